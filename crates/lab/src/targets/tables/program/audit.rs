//! Asks an application's own program which acknowledged keys a power cut has left.

use std::time::Duration;

use bakeoff_workloads::AuditFindings;

use super::claims::read_acknowledged;
use super::host::ProgramHost;
use super::process::ProgramFault;
use super::protocol::{ProgramReply, ProtocolFault};
use crate::TrialError;

/// Findings that are told in words; all are counted.
const TOLD: usize = 10;

/// What was found of the keys, and what the program could not read.
#[derive(Default)]
pub struct KeyAudit {
    pub findings: AuditFindings,
    pub faults: Vec<String>,
}

impl KeyAudit {
    /// Asks for one key after the other, so that no key can be told that nobody was promised.
    ///
    /// # Errors
    ///
    /// If the program breaks the protocol: then nothing is known of the image.
    pub fn ask_keys(
        host: &ProgramHost,
        claims: &[Vec<u8>],
        off_at_ns: u64,
        timeout: Duration,
    ) -> Result<Self, TrialError> {
        let mut process = host.start_auditor()?;
        let mut audit = Self::default();
        for (key, at_ns) in read_acknowledged(claims, off_at_ns) {
            let request = format!("audit {key}\n");
            let missing = || format!("answered `{}`", request.trim());
            let asked = process.send(&request).and_then(|()| process.receive(missing, timeout));
            if let Err(fault) = asked.and_then(|reply| audit.take_reply(&key, at_ns, reply)) {
                return Err(TrialError::User(process.end_faulty(&fault)));
            }
        }
        Ok(audit)
    }

    fn take_reply(&mut self, key: &str, at: u64, reply: ProgramReply) -> Result<(), ProgramFault> {
        let found = &mut self.findings;
        let told = match reply {
            ProgramReply::Done { .. } => return Ok(()),
            ProgramReply::Lost => {
                found.lost += 1;
                let oldest = found.oldest_lost_at_ns.map_or(at, |oldest| oldest.min(at));
                found.oldest_lost_at_ns = Some(oldest);
                format!("{key} was acknowledged and is lost")
            }
            ProgramReply::Torn => {
                found.torn += 1;
                format!("{key} is there in part")
            }
            ProgramReply::Failed(why) => {
                if self.faults.len() < TOLD {
                    self.faults.push(format!("{key}: {why}"));
                }
                return Ok(());
            }
            other => return Err(ProtocolFault::Unasked { said: other.to_word().into() }.into()),
        };
        if found.examples.len() < TOLD {
            found.examples.push(told);
        }
        Ok(())
    }
}
