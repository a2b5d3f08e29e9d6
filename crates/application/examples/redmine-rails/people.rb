# Who is in which project, and what they write: as in the workload redmine.

SCALE = Integer(ENV.fetch("BAKEOFF_SCALE"))
USERS, PROJECTS, ISSUES = { 1 => [30, 13, 1_000], 10 => [1_000, 120, 10_000], 100 => [10_000, 1_200, 100_000] }
                          .fetch(SCALE)
MEMBERS = 10
COMMENTS = 10
# Redmine's migrations have made a group and two users already.
FIRST_USER = 101

# Ten users a project, all in as many projects; numbers begin at 0.
def member(project, place)
  (project * MEMBERS + place % MEMBERS) % USERS
end

def memberships(user)
  (user...PROJECTS * MEMBERS).step(USERS).map { |slot| slot.divmod(MEMBERS) }
end

# The project of a filled issue, and its author's and its assignee's places there.
def find_roots(issue)
  round, user = issue.divmod(USERS)
  own = memberships(user)
  project, place = own[round % own.size]
  [project, place + 1 + round % (MEMBERS - 1), place]
end

# Words of Redmine's own English, in any order.
class TextSource
  def initialize(random)
    @random = random
    english = File.read(File.join(FOLDER, "config/locales/en.yml"))
    words = english.scan(/"([^"]+)"/).flatten.join(" ").scan(/[A-Za-z]+[,.]?/)
    @text = Array.new(200_000) { words[random.rand(words.size)] }.join(" ")
  end

  def cut(bytes)
    @text[@random.rand(@text.size - bytes), bytes].strip
  end

  def subject
    cut(@random.rand(20..80))
  end

  def description
    cut(100 + (1900 * @random.rand**2).to_i)
  end

  def notes
    cut(20 + (1900 * @random.rand**4).to_i)
  end
end
