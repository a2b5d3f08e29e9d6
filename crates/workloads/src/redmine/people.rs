//! Who is a member of what, and whose the loaded issues are: pure arithmetic, so that rows need
//! no memory and clients know the people of a project without asking the database.
//!
//! Memberships are dealt like cards: slot `s` (project `s / 10`, place `s % 10`) goes to user
//! `s % users`. Users, projects and issues are numbered from 1, as in their tables.

/// Members of each project.
pub const MEMBERS: i64 = 10;

/// How many rows of each kind there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedmineSize {
    /// Users, the administrator among them.
    pub users: i64,
    /// Projects, with [`MEMBERS`] members each.
    pub projects: i64,
    /// Issues that are loaded.
    pub issues: i64,
}

/// A user as a member of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectMember {
    /// The user.
    pub user: i64,
    /// The project.
    pub project: i64,
    /// From 0 to [`MEMBERS`] - 1.
    pub place: i64,
}

/// Whose a loaded issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Who has written it.
    pub author: ProjectMember,
    /// To whom it is assigned: another member.
    pub assignee: ProjectMember,
}

impl RedmineSize {
    /// The member at a place of a project; places go round.
    pub fn member(&self, project: i64, place: i64) -> ProjectMember {
        let place = place.rem_euclid(MEMBERS);
        ProjectMember { user: ((project - 1) * MEMBERS + place) % self.users + 1, project, place }
    }

    /// How many projects a user is a member of.
    pub fn memberships(&self, user: i64) -> i64 {
        (self.projects * MEMBERS - user) / self.users + 1
    }

    /// One of a user's memberships, from 0; they go round.
    pub fn membership(&self, user: i64, number: i64) -> ProjectMember {
        let slot = user - 1 + number % self.memberships(user) * self.users;
        ProjectMember { user, project: slot / MEMBERS + 1, place: slot % MEMBERS }
    }

    /// A user as the member of a project that he or she is.
    pub fn as_member(&self, user: i64, project: i64) -> ProjectMember {
        let place = (user - 1 - (project - 1) * MEMBERS).rem_euclid(self.users);
        ProjectMember { user, project, place }
    }

    /// Whose a loaded issue is: issues go round the users, so that everybody has as many as
    /// everybody else, and a user's go round the user's projects. Authors are the other members
    /// in turn, so that everybody has written about as many, too.
    pub fn roots(&self, issue: i64) -> Roots {
        let round = (issue - 1) / self.users;
        let assignee = self.membership((issue - 1) % self.users + 1, round);
        let author = self.member(assignee.project, assignee.place + 1 + round % (MEMBERS - 1));
        Roots { author, assignee }
    }
}

impl ProjectMember {
    /// The member's role: one manager, six developers, three reporters.
    pub fn role(&self) -> i64 {
        match self.place {
            0 => 3,
            1..=6 => 4,
            _ => 5,
        }
    }

    /// Who writes comment `number` on what this member has written: the other members in turn.
    pub fn commentator(&self, size: &RedmineSize, number: i64) -> ProjectMember {
        size.member(self.project, self.place + 1 + number % (MEMBERS - 1))
    }
}
