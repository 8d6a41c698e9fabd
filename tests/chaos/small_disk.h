#pragma once

// SmallDisk: a file system of two megabytes that a test can fill and make read-only. Needs the
// right to mount, which root has; only this process and those it starts see it.

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace detol::testing_support {

class SmallDisk {
 public:
  // Creates the folder and mounts the file system on it.
  explicit SmallDisk(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directory(folder_);
    is_there_ = ::unshare(CLONE_NEWNS) == 0 &&
                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_there() const { return is_there_; }

  void fill() const {
    std::ofstream filler(folder_ / "filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(folder_ / "filler"); }

  // Returns false if the kernel refuses for ten seconds, because a file is open for writing. A
  // killed process may need a moment until its files are closed.
  bool make_read_only() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!remount(MS_RDONLY)) {
      if (errno != EBUSY || std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool make_writable() const { return remount(0); }

 private:
  bool remount(unsigned long flags) const {
    return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | flags, "size=2m") == 0;
  }

  const std::filesystem::path folder_;
  bool is_there_ = false;
};

}  // namespace detol::testing_support
