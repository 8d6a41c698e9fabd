#pragma once

// Damages a good file in every way in turn, and restores it at the end. Memory is limited
// meanwhile, so that a reader that allocates a damaged size is found.

#include <malloc.h>
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/idx_writer.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol::testing_support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// While a MemoryLimit exists, the process may take at most `more` bytes more of address space.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t more = std::size_t{64} << 20) {
    ::mallopt(M_ARENA_MAX, 1);  // a thread's own arena reserves 64 MB, used or not
    ::getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * 4096 + more, before_.rlim_max};
    if (!kIsSanitized) ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

// Returns whether inspection refuses the data: in one line that names the file, not for a huge
// allocation.
inline bool is_refused_well(const DataConfig& data, const std::string& what) {
  const auto seen = inspect_dataset(data);
  if (seen) return false;
  const std::string& message = seen.error().message;
  EXPECT_EQ(seen.error().code, ErrorCode::kInput) << what << ": " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << what << ": " << message;
  EXPECT_EQ(message.find("not enough memory"), std::string::npos) << what << ": " << message;
  EXPECT_TRUE(message.starts_with(data.path) || message.starts_with("data.")) << message;
  return true;
}

// Cuts the file to every length; a cut to `may_pass` bytes or more may go unnoticed.
inline void survive_every_cut(const DataConfig& data, const std::filesystem::path& file,
                              std::size_t may_pass = SIZE_MAX) {
  const std::string bytes = read_file(file).value();
  const MemoryLimit limit;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write_bytes(file, std::string_view(bytes).substr(0, length));
    const std::string what = file.filename().string() + " cut to " + std::to_string(length);
    const bool is_refused = is_refused_well(data, what);
    EXPECT_TRUE(length >= may_pass || is_refused) << what;
  }
  write_bytes(file, bytes);
}

// Flips every bit of the first 64 bytes and one bit of each later byte, up to `last`, one by one.
inline void survive_flipped_bits(const DataConfig& data, const std::filesystem::path& file,
                                 std::size_t last = SIZE_MAX) {
  constexpr std::size_t thorough = 64;
  std::string bytes = read_file(file).value();
  const MemoryLimit limit;
  for (std::size_t at = 0; at < std::min(bytes.size(), last); ++at) {
    for (std::size_t bit = 0; bit < 8; ++bit) {
      if (at >= thorough && bit != at * 5 % 8) continue;
      const char before = bytes[at];
      bytes[at] = static_cast<char>(before ^ 1 << bit);
      write_bytes(file, bytes);
      is_refused_well(data, file.filename().string() + " byte " + std::to_string(at));
      bytes[at] = before;
    }
  }
  write_bytes(file, bytes);
}

inline void expect_words(const Result<Dataset>& loaded, const std::vector<std::string>& words) {
  ASSERT_FALSE(loaded) << "was loaded";
  for (const std::string& word : words)
    EXPECT_NE(loaded.error().message.find(word), std::string::npos) << loaded.error().message;
}

}  // namespace detol::testing_support
