//! Applications that are made of databases and dumps.

use bakeoff_application::{Application, FoundApplication};
use bakeoff_engines::find_level;

use crate::copied::{SourceServer, write_made};
use crate::stage::Stage;

const ASKED: &str = "SELECT note FROM customers WHERE id = 4; SELECT note FROM customers WHERE id = 9; \
    UPDATE orders SET total = 2 WHERE code = '12' AND n = 9; \
    SELECT COUNT(*) FROM customers c JOIN orders o ON o.code = c.code WHERE c.id IN (4, 9) LIMIT 3; \
    SELECT id FROM customers WHERE length(note) > 7";

/// All operations run on SQLite, and the whole compiles.
fn assert_runs(found: &FoundApplication) {
    Application::new(found.files.clone()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let sqlite = find_level("sqlite").unwrap();
    let record = Stage::on(sqlite, found.files.clone(), Vec::new()).record(0, 1, 60, false);
    let errors: Vec<_> = record.operations.into_iter().filter_map(|sent| sent.error).collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn a_server_s_own_statements_are_operations_weighted_by_their_calls() {
    let statements = "; CREATE EXTENSION pg_stat_statements";
    let postgres = SourceServer::postgres(&(write_made(0) + statements)).map(|theirs| {
        theirs.run("psql", &["--dbname=postgres", "--command", ASKED]);
        let url = theirs.postgres_url("bakeoff");
        FoundApplication::find(&url, "shop").unwrap()
    });
    let mariadb = SourceServer::mariadb(&write_made(1)).map(|theirs| {
        theirs.run("mariadb", &["shop", "--execute", ASKED]);
        FoundApplication::find(&theirs.mariadb_url("root"), "shop").unwrap()
    });
    for found in [postgres, mariadb].into_iter().flatten() {
        assert_runs(&found);
        let texts = &found.files.texts;
        let find = |part: &str| {
            let named = texts
                .iter()
                .find(|(name, text)| name.starts_with("statement_") && text.contains(part));
            let (name, text) = named.unwrap_or_else(|| panic!("{part}: {texts:#?}"));
            (name.trim_end_matches(".sql").to_owned(), text.clone())
        };
        let (read, text) = find("note");
        assert!(text.contains("\\pick r1 FROM customers") && text.contains(":r1_id"), "{text}");
        let (change, text) = find("UPDATE");
        assert!(text.contains(":r1_total") && text.contains(":r1_n"), "{text}");
        let (_, text) = find("JOIN");
        assert!(text.contains("LIMIT 10"), "{text}");
        let toml = &texts["workload.toml"];
        assert!(toml.contains(&format!("{read} = 2\n")), "{toml}");
        assert!(toml.contains(&format!("{change} = 1\n")), "{toml}");
        let why = "# left out: ";
        assert!(
            toml.contains(why) && toml.contains("bakeoff can't tell which column's value"),
            "{toml}"
        );
    }
}

/// Each kind of dump declares tables in its own way.
#[test]
fn a_dump_s_tables_are_a_folder_that_runs() {
    let postgres = "--\n-- PostgreSQL database dump\n--\n\\restrict x\nSET x = 1;\n\
        CREATE TYPE public.mood AS ENUM ('a;', 'b');\n\
        CREATE FUNCTION public.f() RETURNS integer LANGUAGE sql AS $_$ SELECT 1; $_$;\n\
        CREATE TABLE public.\"Users\" (\n    id integer NOT NULL,\n    mail character varying(80),\n    m public.mood,\n\
            seen timestamp with time zone DEFAULT now(),\n    tags text[]\n);\n\
        CREATE TABLE public.visits (user_id integer NOT NULL, day date NOT NULL, hits bigint);\n\
        CREATE TABLE public.log (line text);\n\
        ALTER TABLE ONLY public.\"Users\" ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);\n\
        COPY public.log (line) FROM stdin;\nit's; a line\n\\.\n\
        ALTER TABLE ONLY public.\"Users\"\n    ADD CONSTRAINT u PRIMARY KEY (id);\n\
        ALTER TABLE ONLY public.\"Users\" ADD CONSTRAINT m UNIQUE (mail, seen);\n\
        ALTER TABLE ONLY public.visits ADD CONSTRAINT v PRIMARY KEY (user_id, day);\n\
        CREATE INDEX low ON public.\"Users\" USING btree (lower((mail)::text));\n\
        CREATE INDEX h ON public.visits USING btree (hits DESC);\n\
        ALTER TABLE ONLY public.visits ADD CONSTRAINT f FOREIGN KEY (user_id) REFERENCES public.\"Users\"(id);\n\
        --\n-- PostgreSQL database dump complete\n--\n";
    let mysql = "-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nCREATE TABLE `order` (\n  \
        `id` int(10) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s; so',\n  `kind` enum('a','b') DEFAULT 'a',\n  \
        `ok` tinyint(1) NOT NULL,\n  `price` decimal(10,2) DEFAULT NULL,\n  `twice` decimal(10,2) GENERATED ALWAYS AS (`price` * 2) STORED,\n  \
        PRIMARY KEY (`id`),\n  KEY `k` (`kind`(10),`ok`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8;\n\
        DELIMITER ;;\nCREATE TRIGGER x BEGIN INSERT INTO y VALUES (1); END ;;\nDELIMITER ;\n\
        INSERT INTO `order` VALUES (1,'a;\\'',1,NULL);\n-- Dump completed on today\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.sql");
    for (dump, wanted, operations, notes) in [
        (
            postgres,
            &[
                "CREATE TABLE \"Users\" (\n    id BIGSERIAL PRIMARY KEY,\n    mail VARCHAR(80),\n    m VARCHAR(255),\n    \
                 seen TIMESTAMP,\n    tags TEXT\n);\nCREATE INDEX ON \"Users\" (mail, seen);\n",
                "user_id INTEGER NOT NULL,\n    day DATE NOT NULL,\n    hits BIGINT,\n    PRIMARY KEY (user_id, day),\n    \
                 FOREIGN KEY (user_id) REFERENCES \"Users\" (id)\n);\nCREATE INDEX ON visits (hits);\n",
            ][..],
            "change_Users read_Users read_visits",
            &["the table log is left out", "the index low of Users", "UNIQUE in Users is an index"]
                [..],
        ),
        (
            mysql,
            &[
                "CREATE TABLE \"order\" (\n    id BIGSERIAL PRIMARY KEY,\n    kind VARCHAR(255),\n    ok BOOLEAN NOT NULL,\n    \
               price NUMERIC(10, 2)\n);\nCREATE INDEX ON \"order\" (kind, ok);\n",
            ],
            "change_order read_order",
            &[],
        ),
    ] {
        std::fs::write(&path, dump).unwrap();
        let found = FoundApplication::find(path.to_str().unwrap(), "mine").unwrap();
        let schema = &found.files.texts["schema.sql"];
        assert!(wanted.iter().all(|part| schema.contains(part)), "{schema}");
        assert_eq!(found.list_operations().collect::<Vec<_>>().join(" "), operations);
        let said = found.notes().join("\n");
        assert!(notes.iter().all(|part| said.contains(part)), "{said}");
        assert_eq!(found.notes().len(), notes.len(), "{said}");
        assert_runs(&found);
    }
    std::fs::write(&path, "PRAGMA x;\nBEGIN;\nCREATE TABLE a (b INTEGER);\nCOMMIT;\n").unwrap();
    let told = FoundApplication::find(path.to_str().unwrap(), "mine").unwrap_err();
    assert!(
        told.contains("no table that bakeoff can have") && told.contains("a is left out"),
        "{told}"
    );
}
