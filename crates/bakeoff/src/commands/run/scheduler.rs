//! Finds the shard that a scheduler has given this process.
//!
//! Sources: *Job Array Support* and sbatch(1) of Slurm; *Indexed Job for Parallel Processing with
//! Static Work Assignment* of Kubernetes, where a pod has `JOB_COMPLETION_INDEX`, from 0, and the
//! number of pods isn't given.

use bakeoff_experiment::Shard;

/// Gives the number of shards if the scheduler doesn't.
pub const SHARDS: &str = "BAKEOFF_SHARDS";

const TASK: &str = "SLURM_ARRAY_TASK_ID";
const FIRST: &str = "SLURM_ARRAY_TASK_MIN";
const LAST: &str = "SLURM_ARRAY_TASK_MAX";
const STEP: &str = "SLURM_ARRAY_TASK_STEP";
const TASKS: &str = "SLURM_ARRAY_TASK_COUNT";

const COMPLETION: &str = "JOB_COMPLETION_INDEX";

pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn find_shard(variables: Variables<'_>) -> Result<Option<Shard>, String> {
    let count = read_count(variables)?;
    let (slurm, kubernetes) = (slurm_shard(variables, count)?, kubernetes_shard(variables, count)?);
    match (slurm, kubernetes) {
        (Some(one), Some(other)) if one != other => Err(format!(
            "{TASK} says that this is shard {one}, and {COMPLETION} that it is {other}; unset what is not of \
             the scheduler that started it"
        )),
        (one, other) => Ok(one.or(other)),
    }
}

/// `None` if the variable is not set.
pub fn read_count(variables: Variables<'_>) -> Result<Option<u32>, String> {
    read_number(variables, SHARDS)
}

fn slurm_shard(variables: Variables<'_>, shards: Option<u32>) -> Result<Option<Shard>, String> {
    let Some(task) = read_number(variables, TASK)? else { return Ok(None) };
    let array = (read_number(variables, FIRST)?, read_number(variables, TASKS)?);
    let (first, tasks) = match (array, shards) {
        ((first, tasks), Some(shards)) if tasks != Some(shards) => {
            let last = read_number(variables, LAST)?;
            let array = [(FIRST, first), (LAST, last), (TASKS, tasks), (TASK, Some(task))];
            return run_again(task, &array, shards).map(Some);
        }
        ((Some(first), Some(tasks)), shards) if tasks > 1 || shards.is_some() => (first, tasks),
        ((Some(_), Some(_)), _) => {
            return Err(format!(
                "this array has one task, which may be a part of a larger one that is run again: set \
                 {SHARDS} to the number of shards"
            ));
        }
        _ => {
            return Err(format!(
                "{TASK} is set, and {FIRST} or {TASKS} is not: set {SHARDS} to the number of shards"
            ));
        }
    };
    let step = read_number(variables, STEP)?.unwrap_or(1).max(1);
    let last = read_number(variables, LAST)?;
    let expected = u64::from(first) + u64::from(tasks - 1) * u64::from(step);
    let place = task.checked_sub(first).filter(|ahead| ahead % step == 0);
    match place {
        Some(ahead) if last.is_none_or(|last| u64::from(last) == expected) => {
            Shard::new(ahead / step + 1, tasks).map(Some)
        }
        _ => Err(format!(
            "the numbers of this array have gaps ({TASK} {task}, {FIRST} {first}, {TASKS} {tasks}): number \
             its tasks from 1 to the number of shards, and set {SHARDS} to that if some of them are run again"
        )),
    }
}

/// A Slurm array may rerun some shards: its tasks keep their numbers. If one number is no shard,
/// all tasks refuse: otherwise the others would do unwanted work.
fn run_again(task: u32, array: &[(&str, Option<u32>)], shards: u32) -> Result<Shard, String> {
    let is_wrong = |number: u32| !(1..=shards).contains(&number);
    let wrong =
        array.iter().find_map(|(name, number)| Some((name, (*number).filter(|it| is_wrong(*it))?)));
    match wrong {
        Some((name, number)) => Err(format!(
            "{name} is {number}, and {SHARDS} is {shards}: these contradict each other, so no task of this \
             array is run. Number its tasks from 1 to {shards} (--array=1-{shards}), or set {SHARDS} to the \
             number of shards"
        )),
        None => Shard::new(task, shards),
    }
}

fn kubernetes_shard(
    variables: Variables<'_>,
    shards: Option<u32>,
) -> Result<Option<Shard>, String> {
    let Some(completion) = read_number(variables, COMPLETION)? else { return Ok(None) };
    let Some(shards) = shards else {
        return Err(format!(
            "{COMPLETION} says which pod of the job this is, and nothing how many there are: set {SHARDS} in \
             the manifest to the job's `completions`"
        ));
    };
    let shard = Shard::new(completion.saturating_add(1), shards);
    shard.map(Some).map_err(|why| format!("{COMPLETION} is {completion}, from 0: {why}"))
}

/// `None` if the variable is not set, or empty.
fn read_number(variables: Variables<'_>, name: &str) -> Result<Option<u32>, String> {
    let Some(text) = variables(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let number =
        text.parse::<u32>().map_err(|_| format!("{name} is `{text}`, and no whole number"));
    match number? {
        0 if name == TASKS || name == SHARDS => {
            Err(format!("{name} is 0; it has to be 1 at least"))
        }
        number => Ok(Some(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these variables say: the shard, `-` where there is none, or what is wrong.
    fn says(variables: &[(&str, &str)]) -> String {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        match find_shard(&find) {
            Ok(shard) => shard.map_or_else(|| "-".into(), |shard| shard.to_string()),
            Err(why) => why,
        }
    }

    fn array<'a>(
        task: &'a str,
        first: &'a str,
        last: &'a str,
        tasks: &'a str,
    ) -> [(&'a str, &'a str); 4] {
        [(TASK, task), (FIRST, first), (LAST, last), (TASKS, tasks)]
    }

    #[test]
    fn an_array_of_slurm_is_numbered_from_wherever_it_begins() {
        assert_eq!(says(&[]), "-");
        assert_eq!(says(&array("1", "1", "8", "8")), "1/8");
        assert_eq!(says(&array("0", "0", "7", "8")), "1/8");
        assert_eq!(says(&array("7", "0", "7", "8")), "8/8");
        let steps = [&array("5", "1", "7", "4")[..], &[(STEP, "2")]].concat();
        assert_eq!(says(&steps), "3/4");
        let same = [&array("0", "0", "7", "8")[..], &[(SHARDS, "8")]].concat();
        assert_eq!(says(&same), "1/8");
    }

    #[test]
    fn tasks_that_are_run_again_keep_their_numbers() {
        let alone = array("3", "3", "3", "1");
        assert!(says(&alone).contains("one task"), "{}", says(&alone));
        let of_eight = [&alone[..], &[(SHARDS, "8")]].concat();
        assert_eq!(says(&of_eight), "3/8");
        let beyond = [&array("9", "9", "9", "1")[..], &[(SHARDS, "8")]].concat();
        assert!(says(&beyond).contains("--array=1-8"), "{}", says(&beyond));
        assert!(says(&array("7", "1", "7", "3")).contains("gaps"));
        assert!(says(&array("2", "3", "7", "5")).contains("gaps"));
    }

    #[test]
    fn an_array_that_has_other_numbers_than_the_shards_is_refused_to_every_task() {
        let of = |task, first, last, tasks, shards| {
            says(&[&array(task, first, last, tasks)[..], &[(SHARDS, shards)]].concat())
        };
        for task in ["1", "2", "3", "4"] {
            let said = of(task, "1", "4", "4", "3");
            assert!(said.contains("is 4, and BAKEOFF_SHARDS is 3"), "{task}: {said}");
        }
        // As many tasks as shards, or fewer, and one of them beyond the last shard, or before the first.
        for (task, first, last, tasks) in [("2", "2", "9", "2"), ("1", "0", "2", "3")] {
            let said = of(task, first, last, tasks, "8");
            assert!(said.contains("no task of this array is run"), "{said}");
        }
        // Some are run again.
        assert_eq!(of("3", "3", "7", "2", "8"), "3/8");
    }

    #[test]
    fn kubernetes_says_which_pod_it_is_and_the_manifest_how_many() {
        let pod = [(COMPLETION, "0")];
        assert!(says(&pod).contains(SHARDS), "{}", says(&pod));
        assert_eq!(says(&[(COMPLETION, "0"), (SHARDS, "4")]), "1/4");
        assert_eq!(says(&[(COMPLETION, "3"), (SHARDS, "4")]), "4/4");
        assert!(says(&[(COMPLETION, "4"), (SHARDS, "4")]).contains("no shard 5 of 4"));
    }

    #[test]
    fn what_contradicts_itself_or_is_no_number_is_refused() {
        let both = [&array("2", "1", "4", "4")[..], &[(COMPLETION, "2"), (SHARDS, "4")]].concat();
        let said = says(&both);
        assert!(said.contains("shard 2/4") && said.contains("3/4"), "{said}");
        assert!(says(&array("two", "1", "4", "4")).contains("`two`"));
        assert!(says(&[(TASK, "1")]).contains(SHARDS));
        assert!(says(&[(COMPLETION, "0"), (SHARDS, "0")]).contains("is 0"));
        assert!(says(&array("1", "1", "1", "0")).contains("is 0"));
    }
}
