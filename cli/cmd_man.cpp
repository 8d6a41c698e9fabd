#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "command_line/manual.h"
#include "core/file.h"
#include "core/table.h"

namespace detol::inline cli {
namespace {

Result<void> write_into(const std::filesystem::path& path, std::string_view text) {
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (failure)
    return fail(ErrorCode::kStorage,
                "cannot create " + path.parent_path().string() + ": " + failure.message());
  return write_file_durably(path, text);
}

// Writes everything below `share` where the folder share/ of a prefix has it.
Result<void> write_all(const std::filesystem::path& share) {
  const std::filesystem::path pages = share / "man" / "man1";
  DETOL_TRY(write_into(pages / "detol.1", manual_page(command_table())));
  for (const Command& command : command_table().commands)
    DETOL_TRY(write_into(pages / (page_name(command) + ".1"), manual_page(command)));
  DETOL_TRY(write_into(share / "bash-completion/completions/detol", completion_script("bash")));
  DETOL_TRY(write_into(share / "zsh/site-functions/_detol", completion_script("zsh")));
  return write_into(share / "fish/vendor_completions.d/detol.fish", completion_script("fish"));
}

Result<std::string> page_of(const std::string& name) {
  if (name.empty()) return manual_page(command_table());
  const Command* command = find_row(command_table().commands, name);
  if (command == nullptr)
    return fail(ErrorCode::kUsage,
                unknown_name("command", name, names_of(command_table().commands)));
  return manual_page(*command);
}

Result<int> run_man(const Arguments& arguments) {
  if (arguments.has("output")) return write_all(arguments.text("output")).map([] { return 0; });
  DETOL_ASSIGN(const std::string page, page_of(arguments.text("PAGE")));
  return show(page);
}

}  // namespace

Command man_command() {
  return {.name = "man",
          .summary = "print a manual page, or write all of them and the shell completions",
          .options = {{"PAGE", "", "a command, as one word: 'study rename'; default: all of detol"},
                      {"-o,--output", "DIR",
                       "write all below DIR as below a prefix's share/: man/man1/*.1, "
                       "bash-completion/, zsh/, fish/; default: one page to standard output"}},
          .examples =
              "  detol man search | man -l -\n"
              "  detol man -o ~/.local/share",
          .run = run_man};
}

}  // namespace detol::inline cli
