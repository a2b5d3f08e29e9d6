//! The picture: reads a second over depth, both on logarithmic axes.

use std::fmt::Write as _;

/// A model's figures, one for each depth.
pub struct ModelSeries {
    pub name: &'static str,
    /// By the model in virtual time; nothing for a device that takes no time.
    pub modelled: Vec<f64>,
    /// On a mounted disk.
    pub achieved: Vec<f64>,
}

const COLOURS: [&str; 8] =
    ["#767676", "#4477aa", "#228833", "#aa3377", "#cc6677", "#bb5500", "#998800", "#117788"];
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// The plot within the picture: left, right, top, bottom.
const PLOT: [f64; 4] = [64.0, 600.0, 28.0, 392.0];
/// The least and the most reads a second, as powers of ten.
const DECADES: (f64, f64) = (1.0, 5.4);
/// The lines across, reads a second.
const LINES: [(f64, &str); 5] =
    [(1e1, "10"), (1e2, "100"), (1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000")];
/// How far two names at the right are apart at least.
const LINE: f64 = 15.0;

/// Draws all series.
pub fn draw_picture(depths: &[u32], all: &[ModelSeries]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\" role=\"img\">\n\
         <title>Random reads of 4 KiB a second over the queue depth</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    push_svg(
        &mut svg,
        format_args!("<text x=\"8\" y=\"14\">random reads of 4 KiB a second</text>"),
    );
    draw_axes(&mut svg, depths);
    let names = place_names(all);
    for (number, series) in all.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points = |rates: &[f64]| -> Vec<String> {
            let points = depths.iter().zip(rates);
            points
                .map(|(depth, rate)| format!("{:.1},{:.1}", depth_to_x(*depth), rate_to_y(*rate)))
                .collect()
        };
        let (modelled, achieved) = (points(&series.modelled), points(&series.achieved));
        let line = if modelled.is_empty() { &achieved } else { &modelled };
        push_svg(
            &mut svg,
            format_args!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{}/>",
                line.join(" "),
                if modelled.is_empty() { " stroke-dasharray=\"3 3\"" } else { "" }
            ),
        );
        for point in &achieved {
            let (x, y) = point.split_once(',').expect("two numbers");
            push_svg(
                &mut svg,
                format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>"),
            );
        }
        push_svg(
            &mut svg,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                PLOT[1] + 10.0,
                names[number],
                series.name
            ),
        );
    }
    svg += "</svg>\n";
    svg
}

fn push_svg(svg: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(svg, "{line}").expect("a string takes everything");
}

fn depth_to_x(depth: u32) -> f64 {
    PLOT[0] + (PLOT[1] - PLOT[0]) * f64::from(depth).log2() / 6.0
}

fn rate_to_y(rate: f64) -> f64 {
    PLOT[3] - (PLOT[3] - PLOT[2]) * (rate.log10() - DECADES.0) / (DECADES.1 - DECADES.0)
}

fn draw_axes(svg: &mut String, depths: &[u32]) {
    for (rate, text) in LINES {
        push_svg(
            svg,
            format_args!(
                "<line x1=\"{}\" x2=\"{}\" y1=\"{2:.1}\" y2=\"{2:.1}\" stroke=\"#ddd\"/>",
                PLOT[0],
                PLOT[1],
                rate_to_y(rate)
            ),
        );
        push_svg(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                PLOT[0] - 8.0,
                rate_to_y(rate) + 4.0
            ),
        );
    }
    for depth in depths {
        push_svg(
            svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{depth}</text>",
                depth_to_x(*depth),
                PLOT[3] + 18.0
            ),
        );
    }
    push_svg(
        svg,
        format_args!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">reads under way; lines: by the model, \
         dots: on a mounted disk</text>",
            (PLOT[0] + PLOT[1]) / 2.0,
            PLOT[3] + 38.0
        ),
    );
}

/// Where the names stand: beside the ends of their lines, and not on each other.
fn place_names(all: &[ModelSeries]) -> Vec<f64> {
    let end = |series: &ModelSeries| rate_to_y(*series.achieved.last().expect("a depth"));
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| end(&all[*a]).total_cmp(&end(&all[*b])));
    let mut places = vec![0.0; all.len()];
    let mut above = f64::NEG_INFINITY;
    for number in order {
        above = (end(&all[number]) + 4.0).max(above + LINE);
        places[number] = above;
    }
    places
}
