// docs/guide.md: whatever it tells a new user to type works, from an empty folder on.

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/e2e/environment.h"
#include "tests/e2e/program.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

struct Block {
  std::string language, text;
};

// Returns the blocks of code of a document, in their order.
std::vector<Block> blocks_of(const std::string& document) {
  std::vector<Block> blocks;
  bool is_inside = false;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (!is_inside) blocks.push_back({line.substr(3), ""});
      is_inside = !is_inside;
    } else if (is_inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

// Blocks in `sh` are run; those in `text` need a cluster or a GPU.
TEST(Guide, WorksAsItIsWritten) {
  const TempFolder folder;
  const fs::path bin = folder.path() / "bin", work = folder.path() / "work";
  fs::create_directories(bin);
  fs::create_directories(work);
  fs::create_symlink(tested_program(), bin / "detol");
  const Environment path("PATH", bin.string() + ":" + std::getenv("PATH"));
  const Environment shell("DETOL_PROGRAM", "/bin/sh");

  int ran = 0;
  for (const Block& block : blocks_of(read_file(DETOL_SOURCE_DIR "/docs/guide.md").value())) {
    ASSERT_TRUE(block.language == "sh" || block.language == "text") << block.language;
    if (block.language == "text") continue;
    const Ran done = run(work, {"-ec", block.text});
    ASSERT_EQ(done.code, 0) << block.text << done.out << done.err;
    ++ran;
  }
  EXPECT_GE(ran, 10);
  for (const char* file : {"people.yaml", "detol.schema.json", "trials.csv", "detol.db"})
    EXPECT_TRUE(fs::exists(work / file)) << file;
}

}  // namespace
}  // namespace detol::testing_support
