//! The review of PostgreSQL's settings: 13 to 18.

use crate::servers::{Review, TrustReason};

pub(super) static REVIEW: Review = Review {
    prefixes: &[],
    abbreviates: false,
    reserved: "
        bonjour bonjour_name config_file data_directory dynamic_shared_memory_type
        external_pid_file hba_file ident_file listen_addresses log_destination logging_collector
        port unix_socket_directories unix_socket_group unix_socket_permissions",
    trusted: &[
        (
            TrustReason::Command,
            "archive_cleanup_command archive_command recovery_end_command restore_command
             ssl_passphrase_command",
        ),
        (
            TrustReason::Code,
            "archive_library dynamic_library_path extension_control_path extension_destdir
             jit_provider local_preload_libraries oauth_validator_libraries
             session_preload_libraries shared_preload_libraries",
        ),
        (
            TrustReason::Files,
            "default_tablespace include include_dir include_if_exists krb_server_keyfile
             log_directory log_file_mode log_filename promote_trigger_file ssl_ca_file
             ssl_cert_file ssl_crl_dir ssl_crl_file ssl_dh_params_file ssl_key_file
             stats_temp_directory temp_tablespaces",
        ),
        (
            TrustReason::Network,
            "primary_conninfo primary_slot_name synchronized_standby_slots
             synchronous_standby_names syslog_ident",
        ),
        (TrustReason::Access, "db_user_namespace krb_caseins_users role session_authorization"),
    ],
    harmless: "
        application_name archive_mode backslash_quote backtrace_functions bytea_output
        client_encoding client_min_messages cluster_name compute_query_id constraint_exclusion
        createrole_self_grant datestyle debug_io_direct debug_logical_replication_streaming
        debug_parallel_query default_table_access_method default_text_search_config
        default_toast_compression default_transaction_isolation event_source file_copy_method
        file_extend_method force_parallel_mode huge_pages icu_validation_level intervalstyle
        io_method lc_messages lc_monetary lc_numeric lc_time log_connections log_error_verbosity
        log_line_prefix log_min_error_statement log_min_messages log_statement log_timezone
        password_encryption plan_cache_mode recovery_init_sync_method recovery_prefetch
        recovery_target recovery_target_action recovery_target_lsn recovery_target_name
        recovery_target_time recovery_target_timeline recovery_target_xid
        restrict_nonsystem_relation_kind search_path send_abort_for_crash session_replication_role
        shared_memory_type ssl_ciphers ssl_ecdh_curve ssl_groups ssl_max_protocol_version
        ssl_min_protocol_version ssl_tls13_ciphers stats_fetch_consistency synchronous_commit
        syslog_facility timezone timezone_abbreviations trace_recovery_messages track_functions
        transaction_isolation wal_compression wal_consistency_checking wal_init_zero wal_level
        wal_sync_method xmlbinary xmloption",
};

#[cfg(test)]
mod tests {
    use crate::servers::SettingStanding::{Free, Reserved, Trusted};

    use super::*;

    #[test]
    fn a_name_is_known_in_every_way_the_server_takes_it() {
        let cases = [
            ("archive_command", "touch /tmp/x", Trusted(TrustReason::Command)),
            ("Archive-Command", "1", Trusted(TrustReason::Command)),
            ("listen_addresses", "*", Reserved),
            ("shared_preload_libraries", "x", Trusted(TrustReason::Code)),
            ("random_page_cost", "1.1", Free),
            ("wal_sync_method", "fdatasync", Free),
            ("enable_seqscan", "OFF", Free),
            ("some.extension", "/x", Trusted(TrustReason::Value)),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(REVIEW.find_standing(name, value), wanted, "{name}={value}");
        }
    }
}
