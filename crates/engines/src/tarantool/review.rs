//! The review of Tarantool's settings (`box.cfg`): 2.6.

use crate::servers::{Review, TrustReason};

pub(super) static REVIEW: Review = Review {
    prefixes: &[],
    abbreviates: false,
    reserved: "
        background feedback_enabled feedback_host feedback_interval hot_standby listen memtx_dir
        pid_file read_only username vinyl_dir wal_dir work_dir",
    trusted: &[
        (TrustReason::Files, "custom_proc_title log"),
        (
            TrustReason::Network,
            "instance_uuid replicaset_uuid replication replication_anon
             replication_connect_quorum",
        ),
    ],
    harmless: "log_format wal_mode wal_dir_rescan_delay",
};
