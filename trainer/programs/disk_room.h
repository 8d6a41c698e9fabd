#pragma once

// DiskRoom: whether a disk was full since this object was made. What a program of the user could
// not write then is missing, and hardly any program says so.

#include <filesystem>
#include <utility>

namespace detol::inline trainer {

class DiskRoom {
 public:
  // Of the disk that has this folder.
  explicit DiskRoom(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void look();  // at most once a second
  void look_now();
  bool was_lacking() const { return was_lacking_; }

 private:
  const std::filesystem::path folder_;
  double looked_s_ = 0;
  bool was_lacking_ = false;
};

}  // namespace detol::inline trainer
