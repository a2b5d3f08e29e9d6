//! The findings of each machine in a merged run, and their ratios beside each other.

use std::collections::BTreeSet;

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{
    Agreement, DiskView, MachineRatio, MachineView, MachinesView, RatioBound, RatioOverMachines,
};
use bakeoff_results::{PlanShard, Run};

use crate::block::{
    ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, Strip, StripGroup,
    StripHead, StripRow, Strips, Tone,
};
use crate::chart::find_style;
use crate::figures::{self, NONE};
use crate::strip::{self, StripAxis, StripContent};
use crate::words;

/// Room for rows of marks; ratios on which machines disagree come first.
const ROWS: usize = 120;
/// In pixels.
const HEIGHT: f64 = 26.0;

const COLUMNS: [&str; 3] = ["95 % interval", "blocks", "between the machines"];

const LAST: &str = "The last row of each is the mean of the machines’ true ratios, and its interval is where \
    the true ratio of one more such machine lies, 19 times in 20; it takes three machines. I² is the part of \
    the spread that is between the machines, and no chance. Q is Cochran’s: where machines agree, it is one \
    less than there are, on average.";

const COLUMNS_ARE: &str = "Load: how many processes wanted a processor in the minute before its part began, at \
    most. Off: of how many looks at the machine alone, one before each block, how many were unlike those before.";

const CLOCKS_ARE: &str = "By each machine’s own clock. No ratio depends on it: a trial is timed by a clock that \
    nobody sets.";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let Some(view) = &document.machines else {
        return describe_part(&document.run.run)
            .map(|part| ReportBlock::Note(part.into()))
            .into_iter()
            .collect();
    };
    let mut blocks = vec![
        ReportBlock::Note(describe_mixed(view).into()),
        ReportBlock::Table(build_table(view)),
        ReportBlock::Table(build_dates(view)),
    ];
    blocks.extend(build_forest(layout, view).map(ReportBlock::Strips));
    blocks
}

/// Describes a single shard; `None` for any other run.
fn describe_part(run: &Run) -> Option<String> {
    let PlanShard { index, count, .. } = run.shard.as_ref()?;
    Some(format!(
        "This is shard {index} of {count}: a part of the plan, by one machine. `bakeoff merge` makes one run \
         of all."
    ))
}

fn describe_mixed(view: &MachinesView) -> String {
    let mut text = match view.machines.len() {
        1 => "One machine ran all that was merged.".to_owned(),
        machines => format!(
            "{machines} machines ran this plan, each some of its blocks. Ratios and verdicts hold levels \
             against each other inside blocks, which no two machines share. Means, rates and other figures of \
             cells mix the machines."
        ),
    };
    let shared = view.machines.iter().filter(|machine| machine.shared);
    let shared: Vec<&str> = shared.map(|machine| machine.name.as_str()).collect();
    if !shared.is_empty() {
        text += &format!(
            " Several shards ran at one time on {}, and disturbed each other.",
            words::join_list(&shared)
        );
    }
    let disagree = view.ratios.iter().filter(|ratio| ratio.disagree).count();
    if disagree > 0 {
        let of = words::count_nouns(view.ratios.len(), "ratio");
        text += &format!(
            " The machines disagree on {disagree} of {of}: read those machine by machine."
        );
    }
    text
}

fn build_table(view: &MachinesView) -> ReportTable {
    let columns = [
        ReportColumn::new(ColumnKind::Name, "machine"),
        ReportColumn::new(ColumnKind::Level, "shards"),
        ReportColumn::new(ColumnKind::Level, "processor").with_short(None::<String>),
        ReportColumn::new(ColumnKind::Level, "kernel").with_short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "blocks"),
        ReportColumn::new(ColumnKind::Number, "trials that count").with_short(Some("trials")),
        ReportColumn::new(ColumnKind::Number, "load when it began").with_short(Some("load")),
        ReportColumn::new(ColumnKind::Number, "harness, an operation").with_short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "neighbour alone, a second")
            .with_short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "looks at it that were off").with_short(Some("off")),
    ];
    let table = ReportTable {
        caption: "The machines".into(),
        columns: columns.into(),
        rows: view.machines.iter().map(build_row).collect(),
        note: Some(COLUMNS_ARE.into()),
        ..ReportTable::default()
    };
    table.without_empty_columns(|_| true)
}

fn build_dates(view: &MachinesView) -> ReportTable {
    let all = view.machines.iter().flat_map(|it| &it.disks);
    let all: BTreeSet<_> = all.map(|it| (&it.device, &it.file_system)).collect();
    let differ = all.len() > 1;
    let mut columns = vec![
        ReportColumn::new(ColumnKind::Name, "machine"),
        ReportColumn::new(ColumnKind::Level, "from"),
        ReportColumn::new(ColumnKind::Level, "to"),
    ];
    columns.extend(differ.then(|| ReportColumn::new(ColumnKind::Level, "disk")));
    let row = |it: &MachineView| {
        let ended = it.ended_s.map_or_else(|| "not ended".to_owned(), words::format_date);
        let mut cells = vec![it.name.clone(), words::format_date(it.started_s), ended];
        cells.extend(differ.then(|| list_disks(it)));
        ReportRow::from_cells(cells)
    };
    let caption = match differ {
        true => "When each machine measured, and on which disk",
        false => "When each machine measured",
    };
    ReportTable {
        caption: caption.into(),
        columns,
        rows: view.machines.iter().map(row).collect(),
        note: Some(CLOCKS_ARE.into()),
        ..ReportTable::default()
    }
}

fn list_disks(it: &MachineView) -> String {
    let disk = |disk: &DiskView| {
        let mut parts = vec![disk.device.as_str(), disk.file_system.as_str()];
        parts.retain(|part| !part.is_empty());
        match it.disks.len() {
            1 => parts.join(", "),
            _ => format!(
                "{} ({})",
                parts.join(", "),
                words::count_nouns(disk.blocks as usize, "block")
            ),
        }
    };
    it.disks.iter().map(disk).collect::<Vec<_>>().join("; ")
}

fn build_row(it: &MachineView) -> ReportRow {
    let shards: Vec<String> = it.shards.iter().map(u32::to_string).collect();
    ReportRow::from_cells([
        it.name.clone(),
        if shards.is_empty() { "the rest".into() } else { shards.join(", ") },
        it.machine.processor.clone(),
        it.machine.kernel.clone(),
        words::format_count(it.blocks.into()),
        words::format_count(it.trials.into()),
        figures::format_optional(it.load, words::format_digits),
        words::format_seconds(it.harness_s),
        figures::format_optional(it.neighbour_alone_per_second, words::format_digits),
        format!("{} of {}", it.canaries_off, it.canaries),
    ])
}

/// Disagreements first; `None` where no two machines have a ratio.
fn build_forest(layout: &DocumentLayout<'_>, view: &MachinesView) -> Option<Strips> {
    if view.ratios.is_empty() {
        return None;
    }
    let mut ratios: Vec<&RatioOverMachines> = view.ratios.iter().collect();
    ratios.sort_by_key(|ratio| !ratio.disagree);
    let mut rows = 0;
    let fit = ratios.iter().take_while(|ratio| {
        rows += ratio.on.len() + 1;
        rows <= ROWS
    });
    let shown = &ratios[..fit.count().max(1)];
    let on = || shown.iter().flat_map(|ratio| &ratio.on);
    let over = || shown.iter().filter_map(|ratio| ratio.agreement.as_ref());
    let values = on().map(|it| it.ratio).chain(over().map(|it| it.ratio));
    let values: Vec<f64> = values.collect();
    let ends = on().flat_map(|it| [it.low, it.high]).chain(over().flat_map(|it| [it.low, it.high]));
    let axis = StripAxis::between_levels(&values, &ends.flatten().collect::<Vec<_>>());
    let forest = Forest { layout, view, axis: &axis };
    let groups: Vec<StripGroup> = shown.iter().map(|ratio| forest.group(ratio)).collect();
    let left_out = ratios.len() - shown.len();
    let more = (left_out > 0).then(|| {
        format!("{} in the JSON, as `machines.ratios`.", words::count_nouns(left_out, "more ratio"))
    });
    Some(Strips {
        more: None,
        caption: "The ratios of each machine".into(),
        names: "machine".into(),
        heads: vec![StripHead {
            name: "ratio".into(),
            unit: "left is faster".into(),
            axis: axis.svg(),
        }],
        columns: COLUMNS.map(str::to_owned).into(),
        legend: strip::legend_of_ratios(groups.iter().any(StripGroup::goes_beyond)),
        groups,
        terms: Vec::new(),
        notes: [LAST.to_owned()].into_iter().chain(more).collect(),
    })
}

struct Forest<'b, 'a> {
    layout: &'b DocumentLayout<'a>,
    view: &'b MachinesView,
    axis: &'b StripAxis,
}

impl Forest<'_, '_> {
    fn group(&self, ratio: &RatioOverMachines) -> StripGroup {
        let RatioOverMachines { operation, levels, baseline, level, .. } = ratio;
        let place = self.layout.varying.iter().filter_map(|factor| {
            levels.get(*factor).map(|level| words::phrase_level(factor, level))
        });
        let place: Vec<String> = place.collect();
        let at = if place.is_empty() { String::new() } else { format!(", {}", place.join(", ")) };
        let machines = ratio.on.iter().map(|on| self.build_machine_row(ratio, on));
        let last = ratio.agreement.iter().map(|agreement| self.build_last_row(ratio, agreement));
        StripGroup {
            id: None,
            title: format!("{operation}{at}: {level} against {baseline}"),
            tool: String::new(),
            rows: machines.chain(last).collect(),
        }
    }

    fn build_machine_row(&self, of: &RatioOverMachines, on: &MachineRatio) -> StripRow {
        let machine = self.view.machines.get(on.machine as usize);
        let name = machine.map_or(NONE, |machine| machine.name.as_str());
        let ends = (on.low, on.high);
        let cells = vec![
            format_interval(ends, on.blocks).into(),
            words::format_count(on.blocks.into()).into(),
            ReportCell::default(),
        ];
        self.row(of, name, (on.ratio, ends), false, cells)
    }

    fn build_last_row(&self, of: &RatioOverMachines, it: &Agreement) -> StripRow {
        let ends = (it.low, it.high);
        let blocks: u32 = of.on.iter().map(|on| on.blocks).sum();
        let part =
            format!("I² {}, Q {}", words::format_percent(it.i_squared), words::format_digits(it.q));
        let between = match of.disagree {
            true => ReportCell { tone: Tone::Bad, ..format!("disagree, {part}").into() },
            false => part.into(),
        };
        let cells = vec![
            format_interval(ends, 1).into(),
            words::format_count(blocks.into()).into(),
            between,
        ];
        self.row(of, "such machines", (it.ratio, ends), true, cells)
    }

    fn row(
        &self,
        of: &RatioOverMachines,
        name: &str,
        (ratio, (low, high)): (f64, (Option<f64>, Option<f64>)),
        hollow: bool,
        cells: Vec<ReportCell>,
    ) -> StripRow {
        let label = words::format_ratio(ratio);
        let drawn = StripContent {
            style: find_style(self.layout, &of.level),
            hollow,
            at: Some(self.axis.place(ratio)),
            interval: low.zip(high).map(|ends| self.axis.interval(ends)),
            said: format!("{}, {name}: {label}", of.operation),
            label,
            beside: true,
            ..StripContent::default()
        };
        let strips = vec![Strip::from_content(drawn, self.axis, HEIGHT)];
        StripRow { name: name.into(), strips, cells, against: Vec::new() }
    }
}

fn format_interval(ends: (Option<f64>, Option<f64>), blocks: u32) -> String {
    words::format_ends(ends, RatioBound::Exact, blocks).unwrap_or_else(|| NONE.into())
}
