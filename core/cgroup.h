#pragma once

// Control groups: where the kernel shows the limits that it holds this process to. A batch system
// (Slurm), a container or systemd puts a process into a group, whose limits are on top of those of
// all groups around it. Under version 2 there is one tree of groups for all controllers, under
// version 1 a tree for each, and a machine may have both (hybrid).
//
//   /proc/self/cgroup      4:memory:/slurm/job_7     the group, by controller
//   /proc/self/mountinfo   ... / /sys/fs/cgroup/memory ... - cgroup cgroup rw,memory
//   folders                /sys/fs/cgroup/memory/slurm/job_7, .../slurm, .../memory
//
// In a container the group's path may be that of the host, of which only a part is mounted: what
// can be seen then begins at the mount. `root` is the folder that has proc/ and sys/, for tests.
// Thread-safe.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline core {

// Returns the folders of this process's group and of the groups around it, the inner ones first, as
// far as they can be seen: one list for each tree that may have this controller (cpu, memory).
std::vector<std::vector<std::filesystem::path>> cgroup_folders(
    std::string_view controller, const std::filesystem::path& root = "/");

// Returns the numbers on the first line of a file, where "max" ends the line; empty if there are
// none.
std::vector<double> cgroup_numbers(const std::filesystem::path& file);

// Returns the number after a key in a file of lines "key number".
std::optional<double> cgroup_entry(const std::filesystem::path& file, std::string_view key);

}  // namespace detol::inline core
