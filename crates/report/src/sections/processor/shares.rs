//! Processor time of an operation, by process: those that served it, and bakeoff's own.

use bakeoff_analysis::CellView;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_results::measure::DATABASE_GROUP;

use crate::block::{
    Charts, ColumnKind, ReportBlock, ReportColumn, ReportTable, SvgChart, TableStyle,
};
use crate::cell_tables;
use crate::figures;
use crate::group_tables;
use crate::stacked_bars::{self, Bar};
use crate::words;

/// Eight levels of a factor at each of five of another's fill a tall screen.
const BARS: usize = 40;

const CLIENTS: &str = "bakeoff’s clients";
const DAEMON: &str = "disk daemon";

const CAPTION: &str = "Processor time for each operation, by the process that used it";

/// Seconds of a processor for each operation, by process.
struct ProcessShares<'b, 'a> {
    condition: &'b ConditionLevels<'a>,
    level: &'a str,
    parts: Vec<(&'a str, f64)>,
}

impl ProcessShares<'_, '_> {
    fn process_seconds(&self, name: &str) -> Option<f64> {
        self.parts.iter().find(|(known, _)| *known == name).map(|(_, seconds)| *seconds)
    }
}

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    if !group_tables::are_several(layout) {
        return Vec::new();
    }
    let shared = collect_shares(layout);
    let names = name_processes(&shared);
    if names.len() < 2 {
        return Vec::new();
    }
    vec![
        ReportBlock::Charts(build_chart(layout, &names, &shared)),
        ReportBlock::Table(build_table(layout, &names, &shared)),
    ]
}

fn collect_shares<'b, 'a>(layout: &'b DocumentLayout<'a>) -> Vec<ProcessShares<'b, 'a>> {
    let mut shared = Vec::new();
    for condition in &layout.conditions {
        for &level in &layout.levels {
            let parts = layout.cell(condition, level).map_or(Vec::new(), list_parts);
            if !parts.is_empty() {
                shared.push(ProcessShares { condition, level, parts });
            }
        }
    }
    shared
}

fn list_parts(cell: &CellView) -> Vec<(&str, f64)> {
    let operations = cell.cost.map_or(0, |cost| cost.sums.operations);
    let each = |seconds: f64| {
        (operations > 0).then(|| seconds * f64::from(cell.trials) / operations as f64)
    };
    let groups = cell.groups.iter().map(|it| (it.name.as_str(), it.cpu_per_operation_s));
    let own = [(CLIENTS, each(cell.cpu_s.client)), (DAEMON, cell.cpu_s.disk_daemon.and_then(each))];
    let all = groups.chain(own).filter_map(|(name, seconds)| Some((name, seconds?)));
    all.filter(|(_, seconds)| *seconds > 0.0 && seconds.is_finite()).collect()
}

/// The database comes first, since readers look for it. bakeoff's own processes come last.
fn name_processes<'a>(shared: &[ProcessShares<'_, 'a>]) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = Vec::new();
    for &(name, _) in shared.iter().flat_map(|it| &it.parts) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (*name == DAEMON, *name == CLIENTS, *name != DATABASE_GROUP));
    names
}

fn build_chart<'a>(
    layout: &DocumentLayout<'a>,
    names: &[&str],
    shared: &[ProcessShares<'_, 'a>],
) -> Charts {
    let bar = |it: &ProcessShares<'_, 'a>| {
        let place = words::describe_place(layout, it.condition);
        let name = format!("{},{}", it.level, place.trim_start_matches(" with"));
        Bar {
            name: name.trim_end_matches(',').to_owned(),
            parts: names.iter().map(|name| it.process_seconds(name).unwrap_or(0.0)).collect(),
        }
    };
    let bars: Vec<Bar> = shared.iter().take(BARS).map(bar).collect();
    let mut explained = format!("{CAPTION}.");
    if shared.len() > BARS {
        let all = words::count_nouns(shared.len(), "cell");
        explained += &format!(" {BARS} of {all} are in this chart.");
    }
    let svg = stacked_bars::draw_bars("shares", "Where the processor went", names, &bars);
    let charts = vec![SvgChart { caption: String::new(), svg }];
    Charts { explained: explained.into(), legend: Vec::new(), charts }
}

fn build_table<'a>(
    layout: &DocumentLayout<'a>,
    names: &[&str],
    shared: &[ProcessShares<'_, 'a>],
) -> ReportTable {
    let mut columns = cell_tables::name_columns(layout);
    columns.extend(names.iter().map(|name| ReportColumn::new(ColumnKind::Number, *name)));
    let mut rows = Vec::new();
    let mut before = None;
    for it in shared {
        let repeated = before == Some(it.condition);
        before = Some(it.condition);
        let cells = names.iter().map(|name| {
            figures::format_optional(it.process_seconds(name), words::format_seconds).into()
        });
        let marks = Vec::new();
        rows.push(cell_tables::build_row(layout, it.condition, it.level, repeated, marks, cells));
    }
    ReportTable {
        caption: CAPTION.into(),
        look: TableStyle::Figures,
        columns,
        rows,
        ..ReportTable::default()
    }
}
