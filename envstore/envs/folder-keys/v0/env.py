from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

USERS = "mara theo ines oskar lena pavel ruth samir".split()
GROUPS = "staff editors finance interns board night".split()
FOLDERS = "plans wages photos archive recipes".split()
RIGHTS = ("none", "read", "write")


class FolderKeys(ToolEnv):
    """Change who may read and write which folder, through nested groups, with no side effects.

    Rights belong to groups, groups may hold groups, and a user has the best right that any path
    gives. A wish is met when exactly the rights asked for have changed and nobody else's have.
    """

    levels = 4
    max_turns = 40

    # users, groups, folders, groups within groups, wishes
    plans = ((3, 2, 2, 0, 1), (4, 3, 3, 1, 2), (6, 4, 4, 2, 3), (8, 6, 5, 4, 4))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        users, groups, folders, nested, wishes = self.plans[self.level]
        self.users = self.draw_many(USERS, users)
        self.folders = self.draw_many(FOLDERS, folders)
        names = self.draw_many(GROUPS, groups)
        members = {
            name: sorted(self.draw_many(self.users, self.draw_int(1, users - 1))) for name in names
        }
        inner = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        for outer, held in self.draw_many(inner, nested):
            members[outer].append(held)
        grants = {name: {} for name in names}
        for name in names:
            for folder in self.draw_many(self.folders, self.draw_int(1, max(1, folders - 1))):
                grants[name][folder] = self.draw((1, 2))
        self.state = {"members": members, "grants": grants}
        self.targets, self.tasks = [], []
        table = self.table(self.state)
        for user in self.draw_many(self.users, wishes):
            folder = self.draw(self.folders)
            right = self.draw([r for r in range(3) if r != table[user][folder]])
            table = {**table, user: {**table[user], folder: right}}
            self.targets.append(table)
            may = {0: "no longer see", 1: "be able to read but not to write", 2: "be able to write"}
            self.tasks.append(
                Task(
                    f"{user.title()} should {may[right]} the folder {folder}. All other rights of "
                    f"{user.title()} and of everybody else must stay as they are.",
                    done=lambda s, table=table: rights_table(s, table) == table,
                )
            )
        return self.begin(
            "You administer a file server. Rights (read, or write, which includes reading) are "
            "given to groups; a group's members are users and other groups, whose members get the "
            f"rights too. Users: {', '.join(sorted(self.users))}. Folders: "
            f"{', '.join(sorted(self.folders))}."
        )

    def table(self, state):
        """Return the right of every user to every folder."""
        return rights_table(state, {user: dict.fromkeys(self.folders) for user in self.users})

    def group(self, name):
        """Return a group's name, or refuse."""
        if name not in self.state["members"]:
            raise ToolError(f"there is no group {name[:40]!r}; list_groups shows all")
        return name

    @tool
    def list_groups(self) -> list[str]:
        """List the groups."""
        return list(self.state["members"])

    @tool
    def show_group(self, group: str) -> dict[str, object]:
        """Show the direct members and the granted rights of a group."""
        name = self.group(group)
        grants = {f: RIGHTS[right] for f, right in self.state["grants"][name].items()}
        return {"members": self.state["members"][name], "grants": grants}

    @tool
    def effective(self, user: str) -> dict[str, str]:
        """Show what a user may do with every folder, all groups taken together."""
        if user not in self.users:
            raise ToolError(f"users: {', '.join(sorted(self.users))}")
        return {folder: RIGHTS[right] for folder, right in self.table(self.state)[user].items()}

    @tool
    def create_group(self, group: str) -> str:
        """Create an empty group without rights.

        Args:
            group: new name, lower-case letters, digits and hyphens, at most 20.
        """
        plain = group.replace("-", "").isalnum() and group == group.lower() and len(group) <= 20
        if not plain or group in self.state["members"] or group in self.users:
            raise ToolError("that name is not allowed or is taken")
        if len(self.state["members"]) >= 16:
            raise ToolError("there may be at most 16 groups")
        self.state["members"][group], self.state["grants"][group] = [], {}
        return f"created {group}"

    @tool
    def add_member(self, group: str, member: str) -> str:
        """Make a user or a group a direct member of a group."""
        name = self.group(group)
        if member not in self.users and member not in self.state["members"]:
            raise ToolError("the member is neither a user nor a group")
        if member == name or name in holders_below(self.state, member):
            raise ToolError("a group cannot hold itself")
        if member not in self.state["members"][name]:
            self.state["members"][name].append(member)
        return f"{name}: {', '.join(self.state['members'][name])}"

    @tool
    def remove_member(self, group: str, member: str) -> str:
        """Take a direct member out of a group."""
        name = self.group(group)
        if member not in self.state["members"][name]:
            raise ToolError(f"{member[:40]} is not a direct member of {name}")
        self.state["members"][name].remove(member)
        return f"{name}: {', '.join(self.state['members'][name]) or 'empty'}"

    @tool
    def set_right(self, group: str, folder: str, right: Literal["none", "read", "write"]) -> str:
        """Set the right that a group has to a folder, for all of its members."""
        name = self.group(group)
        if folder not in self.folders:
            raise ToolError(f"folders: {', '.join(sorted(self.folders))}")
        self.state["grants"][name][folder] = RIGHTS.index(right)
        return f"{name} has {right} on {folder}"

    def hint(self):
        return (
            "Changing a group's right changes it for all of its members, so give one person "
            "something special through a group of their own: create it, add the person, set the "
            "right. To take something away, remove the person from every group that gives it, "
            "directly or through an outer group, and give back the rest through the group of "
            "their own. Check `effective` of everybody before and after."
        )

    def solution(self):
        actions = [calls(*(call("effective", user=user) for user in self.users))]
        direct = {g: list(members) for g, members in self.state["members"].items()}
        own = {user: f"only-{user}" for user in self.users}
        now = self.table(self.state)
        for target in self.targets[self.targets.index(now) + 1 if now in self.targets else 0 :]:
            user = next(u for u in self.users if target[u] != now[u])
            steps = []
            if own[user] not in direct:
                direct[own[user]] = []
                steps.append(call("create_group", group=own[user]))
            for folder, right in target[user].items():
                steps.append(call("set_right", group=own[user], folder=folder, right=RIGHTS[right]))
            for group in [g for g, members in direct.items() if user in members and g != own[user]]:
                direct[group].remove(user)
                steps.append(call("remove_member", group=group, member=user))
            if user not in direct[own[user]]:
                direct[own[user]].append(user)
                steps.append(call("add_member", group=own[user], member=user))
            actions.append(calls(*steps))
            now = target
        return [*actions, finish("The rights are as you asked.")]


def holders_below(state, name):
    """Return the members of a group, their members and so on."""
    found, queue = [], [name]
    for item in queue:
        for member in state["members"].get(item, []):
            if member not in found:
                found.append(member)
                queue.append(member)
    return found


def rights_table(state, like):
    """Return every user's best right to every folder, for the users and folders of `like`."""
    table = {user: dict.fromkeys(folders, 0) for user, folders in like.items()}
    for group, grants in state["grants"].items():
        for member in holders_below(state, group):
            for folder, right in grants.items():
                if member in table:
                    table[member][folder] = max(table[member][folder], right)
    return table
