//! Members of projects, and the owners of loaded issues. Pure arithmetic, so that rows need no
//! memory and clients know a project's people without a query.
//!
//! Slot `s` (project `s / 10`, place `s % 10`) goes to user `s % users`. Users, projects and issues
//! are numbered from 1.

pub const MEMBERS: i64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedmineSize {
    /// The administrator among them.
    pub users: i64,
    pub projects: i64,
    pub issues: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectMember {
    pub user: i64,
    pub project: i64,
    pub place: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueRoles {
    pub author: ProjectMember,
    pub assignee: ProjectMember,
}

impl RedmineSize {
    pub fn member_at(&self, project: i64, place: i64) -> ProjectMember {
        let place = place.rem_euclid(MEMBERS);
        ProjectMember { user: ((project - 1) * MEMBERS + place) % self.users + 1, project, place }
    }

    pub fn count_memberships(&self, user: i64) -> i64 {
        (self.projects * MEMBERS - user) / self.users + 1
    }

    pub fn membership_at(&self, user: i64, number: i64) -> ProjectMember {
        let slot = user - 1 + number % self.count_memberships(user) * self.users;
        ProjectMember { user, project: slot / MEMBERS + 1, place: slot % MEMBERS }
    }

    pub fn as_member(&self, user: i64, project: i64) -> ProjectMember {
        let place = (user - 1 - (project - 1) * MEMBERS).rem_euclid(self.users);
        ProjectMember { user, project, place }
    }

    /// Issues go round the users, and a user's issues go round the user's projects, so that all
    /// have as many. Authors are the other members in turn.
    pub fn find_roots(&self, issue: i64) -> IssueRoles {
        let round = (issue - 1) / self.users;
        let assignee = self.membership_at((issue - 1) % self.users + 1, round);
        let author = self.member_at(assignee.project, assignee.place + 1 + round % (MEMBERS - 1));
        IssueRoles { author, assignee }
    }
}

impl ProjectMember {
    /// One manager, six developers, three reporters.
    pub fn role(&self) -> i64 {
        match self.place {
            0 => 3,
            1..=6 => 4,
            _ => 5,
        }
    }

    pub fn choose_commentator(&self, size: &RedmineSize, number: i64) -> ProjectMember {
        size.member_at(self.project, self.place + 1 + number % (MEMBERS - 1))
    }
}
