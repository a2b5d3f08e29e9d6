use std::io::Write;
use std::sync::Mutex;

use super::job::Message;

pub struct MessageOutput<'a>(Mutex<&'a mut (dyn Write + Send)>);

impl<'a> MessageOutput<'a> {
    pub fn new(output: &'a mut (dyn Write + Send)) -> Self {
        Self(Mutex::new(output))
    }

    /// Ends this process if sending fails: the lab would wait for a message that never comes. It
    /// takes the end for the trial's failure.
    pub fn send(&self, message: &Message) {
        let line = serde_json::to_string(message).expect("a message is plain data");
        let mut output = self.0.lock().expect("nobody panics while sending");
        if let Err(error) = writeln!(output, "{line}").and_then(|()| output.flush()) {
            let _ = writeln!(std::io::stderr(), "it can't report to bakeoff: {error}");
            std::process::exit(1);
        }
    }
}
