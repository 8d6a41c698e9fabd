#include "core/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

namespace detol::inline core {
namespace {

namespace fs = std::filesystem;

struct Mount {
  std::string type, part, point, options;  // part: the group whose folder is at the point
};

// Returns a path of mountinfo, where a space is \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string digits = text[at] == '\\' ? text.substr(at + 1, 3) : "";
    const bool is_octal = digits.size() == 3 &&
                          std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
    plain += is_octal ? static_cast<char>(std::stoi(digits, nullptr, 8)) : text[at];
    if (is_octal) at += 3;
  }
  return plain;
}

bool has_word(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

std::vector<Mount> mounts_in(const fs::path& mountinfo) {
  std::vector<Mount> mounts;
  std::ifstream file(mountinfo);
  for (std::string line; std::getline(file, line);) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream left(line), right(line.substr(separator + 3));
    std::string skipped, source;
    Mount mount;
    left >> skipped >> skipped >> skipped >> mount.part >> mount.point;
    right >> mount.type >> source >> mount.options;
    if (!mount.type.starts_with("cgroup") || mount.point.empty()) continue;
    mount.part = unescaped(mount.part);
    mount.point = unescaped(mount.point);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// Returns the group's path below the mount; nullopt if the mount does not have it.
std::optional<std::string> below(const Mount& mount, const std::string& group) {
  if (group.find("..") != std::string::npos) return std::nullopt;  // outside of the namespace
  if (mount.part == "/") return group;
  if (group != mount.part && !group.starts_with(mount.part + "/")) return std::nullopt;
  return group.substr(mount.part.size());
}

// Returns the folders from the group's up to the mount's, without those that are not there.
std::vector<fs::path> folders_from(const fs::path& top, const std::string& group) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (std::string rest = group;;) {
    while (rest.ends_with('/')) rest.pop_back();
    fs::path folder = top;
    folder += rest;
    if (fs::is_directory(folder, ignored)) folders.push_back(std::move(folder));
    if (rest.empty()) return folders;
    rest.resize(std::min(rest.size(), rest.rfind('/') == std::string::npos ? 0 : rest.rfind('/')));
  }
}

std::vector<fs::path> folders_of(const std::string& group, const std::vector<Mount>& mounts,
                                 const fs::path& root) {
  std::vector<fs::path> best;
  for (const Mount& mount : mounts) {
    const fs::path top = root / fs::path(mount.point).relative_path();
    std::vector<fs::path> folders = folders_from(top, below(mount, group).value_or(""));
    if (folders.size() > best.size()) best = std::move(folders);
  }
  return best;
}

}  // namespace

std::vector<std::vector<fs::path>> cgroup_folders(std::string_view controller,
                                                  const fs::path& root) {
  const std::vector<Mount> mounts = mounts_in(root / "proc/self/mountinfo");
  std::vector<std::vector<fs::path>> trees;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a" or "4:cpu,cpuacct:/a"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !has_word(controllers, controller)) continue;
    std::vector<Mount> fitting;
    for (const Mount& mount : mounts) {
      const bool fits = is_v2 ? mount.type == "cgroup2"
                              : mount.type == "cgroup" && has_word(mount.options, controller);
      if (fits) fitting.push_back(mount);
    }
    auto folders = folders_of(line.substr(second + 1), fitting, root);
    if (!folders.empty()) trees.push_back(std::move(folders));
  }
  return trees;
}

std::vector<double> cgroup_numbers(const fs::path& file) {
  std::vector<double> numbers;
  std::ifstream text(file);
  std::string line;
  std::getline(text, line);
  std::istringstream words(line);
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

std::optional<double> cgroup_entry(const fs::path& file, std::string_view key) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string word;
    double number = 0;
    if (words >> word >> number && word == key) return number;
  }
  return std::nullopt;
}

}  // namespace detol::inline core
