//! What each machine of a merged run found: the machines, and the ratios of each beside each other.

use std::collections::BTreeSet;

use bakeoff_analysis::{
    Agreement, DiskView, MachineView, MachinesView, OnMachine, RatioIs, RatioOverMachines,
};
use bakeoff_results::{PlanShard, Run};

use crate::block::{
    ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, Strip, StripGroup,
    StripHead, StripRow, Strips, Tone,
};
use crate::figures::{self, NONE};
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::strip::{self, StripAxis, StripContent};
use crate::words;

/// The machines of a merged run.
pub struct Machines;

/// So many rows of marks have room; the ratios on which machines disagree come first.
const ROWS: usize = 120;
/// The height of a row, in pixels.
const HEIGHT: f64 = 26.0;

/// The headings behind the strips.
const COLUMNS: [&str; 3] = ["95 % interval", "blocks", "between the machines"];

/// What the last row of each ratio is, for a reader.
const LAST: &str = "The last row of each is the mean of the machines’ true ratios, and its interval is where \
    the true ratio of one more such machine lies, 19 times in 20; it takes three machines. I² is the part of \
    the spread that is between the machines, and no chance. Q is Cochran’s: where machines agree, it is one \
    less than there are, on average.";

/// What two columns are, for a reader.
const COLUMNS_ARE: &str = "Load: how many processes wanted a processor in the minute before its part began, at \
    most. Off: of how many looks at the machine alone, one before each block, how many were unlike those before.";

/// Whose clocks tell when, for a reader.
const CLOCKS_ARE: &str = "By each machine’s own clock. No ratio depends on it: a trial is timed by a clock that \
    nobody sets.";

impl Section for Machines {
    fn name(&self) -> &str {
        "machines"
    }

    fn title(&self) -> &str {
        "What each machine found"
    }

    fn link(&self) -> &str {
        "Machines"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let document = layout.document;
        let Some(view) = &document.machines else {
            return part(&document.run.run)
                .map(|part| ReportBlock::Note(part.into()))
                .into_iter()
                .collect();
        };
        let mut blocks = vec![
            ReportBlock::Note(mixed(view).into()),
            ReportBlock::Table(table(view)),
            ReportBlock::Table(when(view)),
        ];
        blocks.extend(forest(layout, view).map(ReportBlock::Strips));
        blocks
    }
}

/// What a shard is by itself; `None` for any other run.
fn part(run: &Run) -> Option<String> {
    let PlanShard { index, count, .. } = run.shard.as_ref()?;
    Some(format!(
        "This is shard {index} of {count}: a part of the plan, by one machine. `bakeoff merge` makes one run \
         of all."
    ))
}

/// What is of one machine, and what is of all.
fn mixed(view: &MachinesView) -> String {
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
            words::list(&shared)
        );
    }
    let disagree = view.ratios.iter().filter(|ratio| ratio.disagree).count();
    if disagree > 0 {
        let of = words::many(view.ratios.len(), "ratio");
        text += &format!(
            " The machines disagree on {disagree} of {of}: read those machine by machine."
        );
    }
    text
}

/// A row for each machine.
fn table(view: &MachinesView) -> ReportTable {
    let columns = [
        ReportColumn::new(ColumnKind::Name, "machine"),
        ReportColumn::new(ColumnKind::Level, "shards"),
        ReportColumn::new(ColumnKind::Level, "processor").short(None::<String>),
        ReportColumn::new(ColumnKind::Level, "kernel").short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "blocks"),
        ReportColumn::new(ColumnKind::Number, "trials that count").short(Some("trials")),
        ReportColumn::new(ColumnKind::Number, "load when it began").short(Some("load")),
        ReportColumn::new(ColumnKind::Number, "harness, an operation").short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "neighbour alone, a second").short(None::<String>),
        ReportColumn::new(ColumnKind::Number, "looks at it that were off").short(Some("off")),
    ];
    let table = ReportTable {
        caption: "The machines".into(),
        columns: columns.into(),
        rows: view.machines.iter().map(row).collect(),
        note: Some(COLUMNS_ARE.into()),
        ..ReportTable::default()
    };
    table.without_empty_columns(|_| true)
}

/// When each machine measured; where disks differ on which, too.
fn when(view: &MachinesView) -> ReportTable {
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
        let ended = it.ended_s.map_or_else(|| "not ended".to_owned(), words::date);
        let mut cells = vec![it.name.clone(), words::date(it.started_s), ended];
        cells.extend(differ.then(|| disks(it)));
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

/// The disks that a machine's data lay on; where there are several, how many of its blocks each had.
fn disks(it: &MachineView) -> String {
    let disk = |disk: &DiskView| {
        let mut parts = vec![disk.device.as_str(), disk.file_system.as_str()];
        parts.retain(|part| !part.is_empty());
        match it.disks.len() {
            1 => parts.join(", "),
            _ => format!("{} ({})", parts.join(", "), words::many(disk.blocks as usize, "block")),
        }
    };
    it.disks.iter().map(disk).collect::<Vec<_>>().join("; ")
}

fn row(it: &MachineView) -> ReportRow {
    let shards: Vec<String> = it.shards.iter().map(u32::to_string).collect();
    ReportRow::from_cells([
        it.name.clone(),
        if shards.is_empty() { "the rest".into() } else { shards.join(", ") },
        it.machine.processor.clone(),
        it.machine.kernel.clone(),
        words::count(it.blocks.into()),
        words::count(it.trials.into()),
        figures::text(it.load, words::digits),
        words::seconds(it.harness_s),
        figures::text(it.neighbour_alone_per_second, words::digits),
        format!("{} of {}", it.canaries_off, it.canaries),
    ])
}

/// The ratios of each machine below each other, those on which the machines disagree first; `None` where no
/// two machines have one.
fn forest(layout: &DocumentLayout<'_>, view: &MachinesView) -> Option<Strips> {
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
    // One at least, however many machines there are.
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
        format!("{} in the JSON, as `machines.ratios`.", words::many(left_out, "more ratio"))
    });
    Some(Strips {
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
        let place = self
            .layout
            .varying
            .iter()
            .filter_map(|factor| levels.get(*factor).map(|level| words::level(factor, level)));
        let place: Vec<String> = place.collect();
        let at = if place.is_empty() { String::new() } else { format!(", {}", place.join(", ")) };
        let machines = ratio.on.iter().map(|on| self.machine(ratio, on));
        let last = ratio.agreement.iter().map(|agreement| self.last(ratio, agreement));
        StripGroup {
            title: format!("{operation}{at}: {level} against {baseline}"),
            tool: String::new(),
            rows: machines.chain(last).collect(),
        }
    }

    fn machine(&self, of: &RatioOverMachines, on: &OnMachine) -> StripRow {
        let machine = self.view.machines.get(on.machine as usize);
        let name = machine.map_or(NONE, |machine| machine.name.as_str());
        let ends = (on.low, on.high);
        let cells = vec![
            interval(ends, on.blocks).into(),
            words::count(on.blocks.into()).into(),
            ReportCell::default(),
        ];
        self.row(of, name, (on.ratio, ends), false, cells)
    }

    fn last(&self, of: &RatioOverMachines, it: &Agreement) -> StripRow {
        let ends = (it.low, it.high);
        let blocks: u32 = of.on.iter().map(|on| on.blocks).sum();
        let part = format!("I² {}, Q {}", words::percent(it.i_squared), words::digits(it.q));
        let between = match of.disagree {
            true => ReportCell { tone: Tone::Bad, ..format!("disagree, {part}").into() },
            false => part.into(),
        };
        let cells = vec![interval(ends, 1).into(), words::count(blocks.into()).into(), between];
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
        let label = words::ratio(ratio);
        let drawn = StripContent {
            style: self.layout.style(&of.level),
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

/// An interval in words, or that there is none.
fn interval(ends: (Option<f64>, Option<f64>), blocks: u32) -> String {
    words::ends(ends, RatioIs::Exact, blocks).unwrap_or_else(|| NONE.into())
}
