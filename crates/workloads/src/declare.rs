//! Scales and statements, declared in one place each.

use bakeoff_engines::{Action, Statement};

use crate::WorkloadScale;

/// Scales from small to large, each with the data that the workload needs to make its rows.
#[derive(Debug)]
pub struct Scales<T: 'static, const N: usize> {
    scales: [WorkloadScale; N],
    data: [T; N],
}

impl<T: Copy, const N: usize> Scales<T, N> {
    /// Takes all scales.
    pub fn new(of: [(WorkloadScale, T); N]) -> Self {
        let data = of.each_ref().map(|(_, data)| *data);
        Self { scales: of.map(|(scale, _)| scale), data }
    }

    /// The scales as users see them.
    pub fn all(&self) -> &[WorkloadScale] {
        &self.scales
    }

    /// The data of the scale of that name.
    pub fn find_data(&self, name: &str) -> T {
        let found = self.scales.iter().position(|scale| scale.name == name);
        self.data[found.unwrap_or_else(|| panic!("there is no scale {name}"))]
    }
}

/// Declares statements and returns the numbers that clients run them by.
#[derive(Debug, Default)]
pub struct DeclaredStatements(Vec<Statement>);

impl DeclaredStatements {
    /// Adds a statement and returns its number.
    pub fn add(&mut self, name: &str, action: impl Into<Action>) -> usize {
        self.0.push(Statement { name: name.into(), action: action.into() });
        self.0.len() - 1
    }

    /// All statements, by number.
    pub fn into_vec(self) -> Vec<Statement> {
        self.0
    }
}

/// Declares one statement a line: its name for clients, its name in traces, its action. The enum
/// has the numbers that `declare` gives.
macro_rules! asks {
    (
        $(#[$about:meta])*
        $ask:ident($($given:ident: $kind:ty),*):
        $($name:ident, $trace:literal => $action:expr;)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub enum $ask { $($name),+ }

        impl $ask {
            pub fn declare($($given: $kind),*) -> $crate::DeclaredStatements {
                let mut statements = $crate::DeclaredStatements::default();
                $(statements.add($trace, $action);)+
                statements
            }
        }
    };
}
pub(crate) use asks;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scale_has_its_own_data() {
        let scale = |name| WorkloadScale::new(name, "", 1);
        let scales = Scales::new([(scale("small"), 10), (scale("large"), 20)]);
        assert_eq!([scales.find_data("small"), scales.find_data("large")], [10, 20]);
        assert_eq!(scales.all().iter().map(|it| &*it.name).collect::<Vec<_>>(), ["small", "large"]);
    }

    #[test]
    fn an_enum_of_statements_has_the_numbers_of_what_it_declares() {
        asks! {
            Ask(table: usize):
            Add, "insert" => Action::Insert { table };
            Put, "upsert" => Action::Upsert { table };
            Remove, "delete" => Action::Delete { table };
        }
        let all = Ask::declare(7).into_vec();
        let said = |ask: Ask| (&*all[ask as usize].name, &all[ask as usize].action);
        assert_eq!(said(Ask::Remove), ("delete", &Action::Delete { table: 7 }));
        assert_eq!(said(Ask::Put), ("upsert", &Action::Upsert { table: 7 }));
        assert_eq!(said(Ask::Add), ("insert", &Action::Insert { table: 7 }));
    }
}
