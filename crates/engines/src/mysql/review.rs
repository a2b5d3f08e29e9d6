//! The review of MariaDB's settings: 10.6 to 10.11, with InnoDB, MyRocks and Aria.

use crate::servers::{Review, TrustReason};

pub(super) static REVIEW: Review = Review {
    // my_getopt.c: `special_opt_prefix`.
    prefixes: &["skip_", "disable_", "enable_", "maximum_", "loose_", "autoset_"],
    abbreviates: true,
    reserved: "
        bind_address bootstrap console datadir defaults_extra_file defaults_file
        defaults_group_suffix extra_max_connections extra_port getopt_prefix_matching help
        local_infile log_error networking no_defaults pid_file port port_open_timeout
        print_defaults proxy_protocol_networks secure_file_priv socket tmpdir user verbose version",
    trusted: &[
        (TrustReason::Command, "wsrep_notify_cmd wsrep_sst_method"),
        (
            TrustReason::Code,
            "allow_suspicious_udfs plugin_dir plugin_load plugin_load_add plugin_maturity
             wsrep_provider wsrep_provider_options",
        ),
        (TrustReason::Statements, "init_connect init_file init_slave"),
        (
            TrustReason::Files,
            "aria_log_dir_path basedir character_sets_dir chroot debug des_key_file
             ft_stopword_file general_log_file innodb_buffer_pool_filename innodb_data_file_path
             innodb_data_home_dir innodb_log_group_home_dir innodb_temp_data_file_path
             innodb_tmpdir innodb_undo_directory language lc_messages_dir log_basename log_bin
             log_bin_index log_ddl_recovery log_isam log_slow_query_file log_tc
             master_info_file relay_log relay_log_index relay_log_info_file
             rocksdb_create_checkpoint rocksdb_datadir rocksdb_log_dir
             rocksdb_persistent_cache_path rocksdb_tmpdir rocksdb_wal_dir
             slave_load_tmpdir slow_query_log_file ssl_* symbolic_links tls_version",
        ),
        (
            TrustReason::Network,
            "feedback feedback_http_proxy feedback_url feedback_user_info report_host
             report_password report_port report_user wsrep_allowlist wsrep_cluster_address
             wsrep_cluster_name wsrep_data_home_dir wsrep_dbug_option wsrep_node_address
             wsrep_node_incoming_address wsrep_node_name wsrep_sst_auth wsrep_sst_donor
             wsrep_sst_receive_address wsrep_start_position wsrep_status_file",
        ),
        (TrustReason::Access, "grant_tables unix_socket"),
    ],
    harmless: "
        alter_algorithm aria_group_commit aria_log_purge_type aria_recover_options aria_stats_method
        aria_sync_log_dir binlog_checksum binlog_do_db binlog_format binlog_ignore_db
        binlog_row_image binlog_row_metadata character_set_filesystem character_set_server
        collation_server column_compression_zlib_strategy completion_type concurrent_insert
        core_file date_format datetime_format debug_gdb default_regex_flags default_storage_engine
        default_time_zone default_tmp_storage_engine delay_key_write disconnect_on_expired_password
        enforce_storage_engine event_scheduler feedback_send_retry_wait feedback_send_timeout
        ft_boolean_syntax general_log gtid_pos_auto_engines histogram_type ignore_db_dirs
        init_rpl_role innodb innodb_buffer_page innodb_buffer_page_lru innodb_buffer_pool_stats
        innodb_change_buffering innodb_checksum_algorithm innodb_cmp innodb_cmp_per_index
        innodb_cmp_per_index_reset innodb_cmp_reset innodb_cmpmem innodb_cmpmem_reset
        innodb_compression_algorithm innodb_deadlock_report innodb_default_row_format
        innodb_encrypt_tables innodb_flush_method innodb_ft_aux_table innodb_ft_being_deleted
        innodb_ft_config innodb_ft_default_stopword innodb_ft_deleted innodb_ft_index_cache
        innodb_ft_index_table innodb_ft_server_stopword_table innodb_ft_user_stopword_table
        innodb_instant_alter_column_allowed innodb_linux_aio innodb_lock_waits innodb_locks
        innodb_metrics innodb_monitor_disable innodb_monitor_enable innodb_monitor_reset
        innodb_monitor_reset_all innodb_stats_method innodb_status_file innodb_sys_columns
        innodb_sys_fields innodb_sys_foreign innodb_sys_foreign_cols innodb_sys_indexes
        innodb_sys_tables innodb_sys_tablespaces innodb_sys_tablestats innodb_sys_virtual
        innodb_tablespaces_encryption innodb_trx lc_messages lc_time_names log_disabled_statements
        log_output log_slow_disabled_statements log_slow_filter log_slow_query log_slow_verbosity
        myisam_recover_options myisam_stats_method note_verbosity old_alter_table old_mode
        optimizer_adjust_secondary_key_costs optimizer_switch optimizer_trace partition
        performance_schema_instrument preload_buffer_size query_cache_type replicate_do_db
        replicate_do_table replicate_events_marked_for_skip replicate_ignore_db
        replicate_ignore_table replicate_rewrite_db replicate_wild_do_table
        replicate_wild_ignore_table rocksdb rocksdb_cf_options rocksdb_cfstats rocksdb_compact_cf
        rocksdb_compaction_stats rocksdb_dbstats rocksdb_ddl rocksdb_deadlock
        rocksdb_default_cf_options rocksdb_delete_cf rocksdb_git_hash rocksdb_global_info
        rocksdb_index_file_map rocksdb_index_type rocksdb_info_log_level rocksdb_is_fd_close_on_exec
        rocksdb_locks rocksdb_override_cf_options rocksdb_perf_context rocksdb_perf_context_global
        rocksdb_skip_unique_check_tables rocksdb_sst_props rocksdb_strict_collation_exceptions
        rocksdb_trx rocksdb_update_cf_options rocksdb_write_policy rpl_semi_sync_master_wait_point
        secure_auth secure_timestamp sequence session_track_system_variables
        session_track_transaction_info slave_ddl_exec_mode slave_exec_mode slave_parallel_mode
        slave_run_triggers_for_rbr slave_skip_errors slave_transaction_retry_errors
        slave_type_conversions slow_query_log sql_mode ssl system_versioning_alter_history
        tc_heuristic_recover thread_handling thread_pool_groups thread_pool_priority
        thread_pool_queues thread_pool_stats thread_pool_waits time_format transaction_isolation
        updatable_views_with_limit use_stat_tables user_variables wsrep_certification_rules
        wsrep_debug wsrep_forced_binlog_format wsrep_mode wsrep_osu_method wsrep_reject_queries
        wsrep_sr_store wsrep_trx_fragment_unit",
};

#[cfg(test)]
mod tests {
    use crate::servers::SettingStanding::{Free, Reserved, Trusted};

    use super::*;

    #[test]
    fn a_name_is_known_in_every_way_the_server_takes_it() {
        let cases = [
            ("skip_networking", "OFF", Reserved),
            ("SKIP-NETWORKING", "0", Reserved),
            ("loose-skip-networking", "0", Reserved),
            ("skip-netw", "0", Reserved),
            ("loose_disable_skip_netw", "1", Reserved),
            ("maximum_port", "3306", Reserved),
            ("por", "3306", Reserved),
            ("bind-addr", "0.0.0.0", Reserved),
            ("getopt_prefix_matching", "1", Reserved),
            ("plugin-load", "x", Trusted(TrustReason::Code)),
            ("loose-Plugin-Loa", "1", Trusted(TrustReason::Code)),
            ("init_conn", "1", Trusted(TrustReason::Statements)),
            ("enable-skip-grant-tables", "1", Trusted(TrustReason::Access)),
            ("innodb_buffer_pool_size", "64M", Free),
            ("innodb_flush_method", "O_DIRECT", Free),
            ("slow_query_log", "ON", Free),
            ("of_tomorrow", "9", Free),
            ("of_tomorrow", "word", Trusted(TrustReason::Value)),
            ("tomorrows_port", "9", Trusted(TrustReason::Unknown)),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(REVIEW.find_standing(name, value), wanted, "{name}={value}");
        }
    }
}
