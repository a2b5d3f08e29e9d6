//! What an experiment may say of these models of disks.

use bakeoff_devices::models::Models;
use bakeoff_devices::spec::{Parameter, SpecError};
use bakeoff_experiment::{DeviceProblem, DeviceTable, DiskModels, ParameterNames};

/// The registered models of disks.
pub struct OfModels(pub Models);

impl DiskModels for OfModels {
    fn names(&self) -> Vec<String> {
        self.0.listed().into_iter().map(|disk| disk.name).collect()
    }

    fn example(&self) -> String {
        "ssd-sata".into()
    }

    fn level(&self, text: &str) -> Result<String, String> {
        self.0.parse(text).map(|spec| spec.to_string()).map_err(|error| error.to_string())
    }

    fn check(&self, device: &DeviceTable) -> Result<(), Vec<DeviceProblem>> {
        self.0.parse_table(device).map(drop).map_err(problems)
    }

    fn parameters(&self) -> Vec<ParameterNames> {
        let names = |(model, parameters): (&str, Vec<_>)| {
            let name = |parameter: Parameter| ParameterNames {
                model: model.to_owned(),
                name: parameter.name,
                syntax: parameter.syntax.to_owned(),
            };
            parameters.into_iter().map(name).collect::<Vec<_>>()
        };
        self.0.parameters().into_iter().flat_map(names).collect()
    }

    fn value(&self, parameter: &str, text: &str) -> Option<Result<String, String>> {
        let read = self.0.value(parameter, text)?;
        Some(read.map_err(|problem| problem.to_string()))
    }

    fn parameters_of(&self, device: &DeviceTable) -> Vec<(String, bool)> {
        let parameters = self.0.parse_table(device).map(|spec| spec.parameters());
        let parameters = parameters.unwrap_or_default().into_iter();
        parameters.map(|parameter| (parameter.name, parameter.is_changed)).collect()
    }
}

/// What is wrong with a device, by the keys of its table.
fn problems(error: SpecError) -> Vec<DeviceProblem> {
    let problems = error.0.iter().map(|problem| DeviceProblem {
        key: problem.parameter().map(str::to_owned),
        message: problem.to_string(),
    });
    problems.collect()
}
