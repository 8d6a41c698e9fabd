#pragma once

// MarkedFolder: a folder of one process, deleted only if its marker proves that it is one. It lies
// in a parent of mode 0700, so that no other user can change what is there:
//
//   <place>/detol-<uid>/                  0700, no symlink, refused if it is anybody else's
//   <place>/detol-<uid>/run-<id>/         0700
//   <place>/detol-<uid>/run-<id>/marker   written by the process, with the random id in it
//
// The process holds a lock on the marker. A folder whose marker has the folder's id and is not
// locked was left by a killed process, in any container; the next make() in that place removes it,
// and an empty run-<...>, with or without an empty marker, which a process leaves that is killed
// while it makes or removes its folder. Nothing else is ever removed, and no symlink is followed.
// Not thread-safe.

#include <filesystem>

#include "core/descriptor.h"
#include "core/result.h"

namespace detol::inline scheduler {

class MarkedFolder {
 public:
  // Makes a folder. Errors (kStorage): path and reason. The place is missing or cannot be written,
  // or other users may rename what is in it, or the parent is not this user's alone.
  static Result<MarkedFolder> make(const std::filesystem::path& place);

  MarkedFolder(MarkedFolder&& other) noexcept;
  MarkedFolder& operator=(MarkedFolder&&) = delete;
  ~MarkedFolder();  // removes it, and the parent if nothing else is there

  const std::filesystem::path& path() const { return path_; }

 private:
  MarkedFolder(std::filesystem::path path, Descriptor lock);
  static Result<MarkedFolder> make_once(const std::filesystem::path& place);

  std::filesystem::path path_;  // empty: moved from
  Descriptor lock_;
};

}  // namespace detol::inline scheduler
