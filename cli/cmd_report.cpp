// `report` writes a study as one HTML file; what is in it is the room report/.

#include <filesystem>

#include "cli/commands.h"
#include "report/gathering/report_source.h"
#include "report/report.h"
#include "studies/trial_rows.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// Returns the file's name without what could be a folder or an option.
std::string default_path(const std::string& study) {
  std::string name;
  for (const char c : study) {
    const bool is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                         (c == '.' && !name.empty());
    name += is_safe && (c != '-' || !name.empty()) ? c : '_';
  }
  return (name.empty() ? "study" : name) + ".html";
}

Result<void> check_target(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {};
  return usage_error("{} is a folder; -o takes the name of a file", path.string());
}

Result<int> run_report(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  const std::string& name = study.record.name;
  const fs::path path = arguments.text("output", default_path(name));
  DETOL_TRY(check_target(path));
  DETOL_ASSIGN(const ReportSource source, read_source(study, storage));
  DETOL_ASSIGN(const std::string page, page_of(model_of(source), name));
  DETOL_TRY(write_output(path, page));
  return show(Rows{.columns = {"study", "file", "bytes"},
                   .rows = {{name, path.string(), static_cast<std::int64_t>(page.size())}}},
              arguments.globals);
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "write a study as one HTML file that opens without a network",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"-o,--output", "FILE", "default: STUDY.html, here"}},
          .examples =
              "  detol report\n"
              "  detol report fashion-cnn -o fashion.html",
          .run = run_report};
}

}  // namespace detol::inline cli
