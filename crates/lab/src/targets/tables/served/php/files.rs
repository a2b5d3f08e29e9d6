use bakeoff_workloads::site::Script;

use super::super::super::server::WORKERS;

const CONNECTIONS: u32 = 40_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpDataSource {
    pub dsn: String,
    pub user: String,
    pub password: String,
    pub first: Vec<String>,
}

pub fn script_settings(script: &Script, source: &PhpDataSource) -> String {
    let PhpDataSource { dsn, user, password, first } = source;
    let first: Vec<String> = first.iter().map(|it| quote_php(it)).collect();
    format!(
        "<?php\nreturn [\n    'step' => {},\n    'kept' => {},\n    'dsn' => {},\n    'user' => {},\n    \
         'password' => {},\n    'first' => [{}],\n];\n",
        quote_php(script.step),
        script.keeps,
        quote_php(dsn),
        quote_php(user),
        quote_php(password),
        first.join(", ")
    )
}

fn quote_php(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// One worker. Each request goes to PHP on a connection of its own: a kept one would hold a PHP
/// worker while others wait. `at` is its folder.
pub fn nginx_config(at: &str, is_root: bool, gzip: bool) -> String {
    let gzip = if gzip { "gzip on;\n    gzip_comp_level 5;" } else { "gzip off;" };
    let user = if is_root { "user root;\n" } else { "" };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("    {name}_temp_path {at}/{name};\n"))
        .concat();
    format!(
        "daemon off;\n{user}worker_processes 1;\npid {at}/nginx.pid;\nerror_log {at}/nginx.log warn;\n\
         worker_rlimit_nofile {CONNECTIONS};\nevents {{\n    worker_connections {CONNECTIONS};\n}}\n\
         http {{\n    access_log off;\n    {gzip}\n    keepalive_requests 1000000000;\n    \
         keepalive_timeout 1h;\n    fastcgi_read_timeout 60s;\n{temporary}    server {{\n        \
         listen unix:{at}/web.sock backlog=4096;\n        location / {{\n            \
         fastcgi_pass unix:{at}/php.sock;\n            \
         fastcgi_param SCRIPT_FILENAME {at}/page.php;\n            \
         fastcgi_param REQUEST_METHOD $request_method;\n            \
         fastcgi_param REQUEST_URI $request_uri;\n            \
         fastcgi_param QUERY_STRING $query_string;\n            \
         fastcgi_param CONTENT_TYPE $content_type;\n            \
         fastcgi_param CONTENT_LENGTH $content_length;\n            \
         fastcgi_param SERVER_PROTOCOL $server_protocol;\n        }}\n    }}\n}}\n"
    )
}

/// A fixed number of workers, which end when told to. The system's own settings load the extensions
/// and are read last, but can't change these.
pub fn php_fpm(at: &str, is_root: bool) -> String {
    let user = if is_root { "user = root\ngroup = root\n" } else { "" };
    let settings: String = SETTINGS
        .iter()
        .map(|(name, value)| format!("php_admin_value[{name}] = {value}\n"))
        .collect();
    format!(
        "[global]\nerror_log = {at}/php.log\nlog_level = notice\ndaemonize = no\n\n[page]\n{user}\
         listen = {at}/php.sock\nlisten.backlog = 4096\nlisten.mode = 0600\npm = static\npm.max_children = {WORKERS}\n\
         pm.max_requests = 0\ncatch_workers_output = yes\n{settings}"
    )
}

pub const PHP_INI: &str = "expose_php = Off\ndisplay_errors = Off\nlog_errors = On\nerror_reporting = E_ALL\n\
     variables_order = \"GPCS\"\noutput_buffering = 65536\ndefault_charset = \"UTF-8\"\n\
     session.auto_start = 0\n";

/// Settings that make the page what it is, whatever PHP's configuration; `none` and 0 turn things
/// off.
const SETTINGS: [(&str, &str); 6] = [
    ("auto_prepend_file", "none"),
    ("auto_append_file", "none"),
    ("display_errors", "0"),
    ("output_buffering", "65536"),
    ("zlib.output_compression", "0"),
    ("default_charset", "UTF-8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_hold_any_text_as_it_is() {
        let script = Script { text: "", step: "read+write", keeps: true };
        let source = PhpDataSource {
            dsn: "sqlite:/a'b\\c/$d".into(),
            first: vec!["PRAGMA synchronous = OFF".into(), "x".into()],
            ..PhpDataSource::default()
        };
        assert_eq!(
            script_settings(&script, &source),
            "<?php\nreturn [\n    'step' => 'read+write',\n    'kept' => true,\n    \
             'dsn' => 'sqlite:/a\\'b\\\\c/$d',\n    'user' => '',\n    'password' => '',\n    \
             'first' => ['PRAGMA synchronous = OFF', 'x'],\n];\n"
        );
    }

    #[test]
    fn every_file_of_both_is_in_their_folder() {
        let compresses = nginx_config("/proc/7/fd/8", false, true);
        let nginx = nginx_config("/proc/7/fd/8", false, false);
        assert!(compresses.contains("gzip on;") && nginx.contains("gzip off;"), "{nginx}");
        let php = php_fpm("/proc/7/fd/8", false);
        // All that they would have elsewhere by themselves, and what they share.
        for name in ["nginx.pid", "nginx.log", "client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            assert!(
                nginx.contains(&format!("/proc/7/fd/8/{name};"))
                    || nginx.contains(&format!("/proc/7/fd/8/{name} ")),
                "{name}: {nginx}"
            );
        }
        assert!(nginx.contains("listen unix:/proc/7/fd/8/web.sock "), "{nginx}");
        assert!(nginx.contains("fastcgi_pass unix:/proc/7/fd/8/php.sock;"), "{nginx}");
        assert!(php.contains("\nlisten = /proc/7/fd/8/php.sock\n"), "{php}");
        assert!(php.contains("\npm = static\n"), "{php}");
        assert!(php.contains("\nlisten.mode = 0600\n"), "{php}");
        // What the system's settings could put around a page, or make of it.
        for off in ["auto_prepend_file] = none\n", "zlib.output_compression] = 0\n"] {
            assert!(php.contains(&format!("\nphp_admin_value[{off}")), "{php}");
        }
        assert!(
            !nginx.contains("user ") && !php.contains("user ="),
            "nobody becomes somebody else"
        );
        assert_eq!(nginx.matches('{').count(), nginx.matches('}').count());
    }
}
