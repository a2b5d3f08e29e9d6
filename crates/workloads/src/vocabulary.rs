use std::collections::HashSet;

use rand::RngExt;

use crate::WorkloadRandom;

/// By falling frequency: common English, and an issue tracker's.
const COMMON: &str = "the to of and a in is that it for on with this not be are as when from by \
    we have can if was but or at an you after there will all which has then should does only \
    error user page no issue time list new same set up server file more so page one see what \
    data also would version test using some out them into our run first work before still \
    change update query select field value how need two now each its they been any get where \
    other button request fix patch open close save click show name code line database table \
    project problem please might could than old left right while because without between every \
    again never always last next back down over under such most both few here too very just \
    like make made use used find found try tried add added remove removed call called return \
    returned fail failed pass passed start started stop stopped load loaded read write wrote \
    written reply answer question comment note member role tracker status priority author \
    assigned date hour minute second week month year report message mail link image browser \
    window screen menu form text column row index key cache memory disk network timeout session \
    login password account admin default option setting release branch commit build log trace \
    exception stack thread process lock transaction restart upgrade install configuration plugin \
    module library function method class object string number empty missing wrong broken slow \
    fast large small long short however although during seems think know sure expected actual \
    result behaviour reproduce steps attached thanks maybe probably already yesterday today \
    until since several another behind around against several instead therefore sometimes often";

/// Without phrases, text would compress less than English.
const PHRASES: [&str; 64] = [
    "of the",
    "in the",
    "on the",
    "to the",
    "for the",
    "from the",
    "with the",
    "at the",
    "it is",
    "there is",
    "this is",
    "that is",
    "to be",
    "has been",
    "have been",
    "will be",
    "it would be",
    "should be",
    "could be",
    "can be",
    "as soon as",
    "as well as",
    "such as",
    "because of",
    "instead of",
    "out of",
    "one of the",
    "some of the",
    "a lot of",
    "the same",
    "the first time",
    "the last one",
    "every time",
    "at the moment",
    "for example",
    "in this case",
    "does not work",
    "did not help",
    "is not possible",
    "no longer works",
    "works as expected",
    "an error message",
    "the error log",
    "in the log file",
    "the latest version",
    "a new version",
    "the test server",
    "the user interface",
    "the database server",
    "the search page",
    "when the user",
    "if the user",
    "after the update",
    "before the release",
    "I think",
    "I have tried",
    "I can see",
    "please check",
    "can you",
    "thank you for",
    "let me know",
    "steps to reproduce",
    "the attached patch",
    "in the next release",
];

const ONSETS: [&str; 28] = [
    "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "l", "m", "n", "p",
    "pl", "pr", "qu", "r", "s", "sh", "st", "t", "tr", "v", "w",
];
const NUCLEI: [&str; 12] = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ea", "ou", "io"];
const CODAS: [&str; 20] = [
    "", "", "", "", "", "", "", "n", "r", "s", "t", "l", "m", "nd", "st", "ng", "ck", "nt", "rd",
    "x",
];

const WORDS: usize = 4000;

const DRAWS: usize = 1 << 16;

pub struct TextVocabulary {
    words: Vec<String>,
    draws: Vec<u16>,
}

impl TextVocabulary {
    pub fn new(random: &mut WorkloadRandom) -> Self {
        let mut words: Vec<String> = Vec::with_capacity(WORDS);
        let mut known: HashSet<String> = HashSet::with_capacity(WORDS);
        let mut common = COMMON.split_whitespace();
        while words.len() < WORDS {
            let word = common.next().map_or_else(|| made_up(random), str::to_owned);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        Self { draws: rank_draws(words.len()), words }
    }

    pub fn write_paragraph(&self, random: &mut WorkloadRandom, text: &mut String) {
        for _ in 0..random.random_range(2..=6) {
            self.write_sentence(random, text);
            text.push(' ');
        }
        text.pop();
        text.push_str("\n\n");
    }

    fn write_sentence(&self, random: &mut WorkloadRandom, text: &mut String) {
        let start = text.len();
        for _ in 0..random.random_range(4..=18) {
            let dice: u64 = random.random();
            if dice >> 58 == 0 {
                push_number(dice as u32, text);
            } else if dice >> 36 & 7 == 0 {
                text.push_str(PHRASES[(dice >> 40) as usize % PHRASES.len()]);
            } else {
                text.push_str(&self.words[usize::from(self.draws[dice as usize % DRAWS])]);
            }
            text.push_str(if dice >> 32 & 15 == 0 { ", " } else { " " });
        }
        text.truncate(text.trim_end_matches([',', ' ']).len());
        text.push(['.', '.', '.', '.', '.', '?', '!', ':'][random.random_range(0..8)]);
        text[start..=start].make_ascii_uppercase();
    }
}

fn push_number(dice: u32, text: &mut String) {
    let (kind, digits) = (dice & 3, dice >> 16);
    let number = match kind {
        0 => format!("#{}", digits % 20_000),
        1 => format!("{}.{}.{}", digits & 7, digits >> 3 & 15, digits >> 7 & 31),
        _ => (digits % 1000).to_string(),
    };
    text.push_str(&number);
}

fn made_up(random: &mut WorkloadRandom) -> String {
    let syllables = [1, 2, 2, 2, 3, 3][random.random_range(0..6)];
    let mut pick = |parts: &[&'static str]| parts[random.random_range(0..parts.len())];
    (0..syllables).flat_map(|_| [pick(&ONSETS), pick(&NUCLEI), pick(&CODAS)]).collect()
}

/// For each draw a word's rank: word n in proportion to 1 / (n + 2.7), Zipf's law as Mandelbrot
/// mended it.
fn rank_draws(words: usize) -> Vec<u16> {
    let weight = |rank: usize| 1.0 / (rank as f64 + 2.7);
    let total: f64 = (1..=words).map(weight).sum();
    let mut draws = Vec::with_capacity(DRAWS);
    let mut sum = 0.0;
    for rank in 1..=words {
        sum += weight(rank);
        draws.resize((sum / total * DRAWS as f64).round() as usize, (rank - 1) as u16);
    }
    draws.resize(DRAWS, 0);
    draws
}
