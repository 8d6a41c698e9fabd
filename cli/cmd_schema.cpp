#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/json_text.h"
#include "core/table.h"
#include "encodings/study/space_schema.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"
#include "trainer/data/formats/formats.h"

namespace detol::inline cli {
namespace {

Result<int> run_schema(const Arguments& arguments) {
  const std::string text = compact(space_schema({.algorithms = names_of(searchers()),
                                                 .pruners = names_of(pruners()),
                                                 .formats = names_of(formats())}),
                                   1) +
                           "\n";
  if (!arguments.has("output")) return show(text);
  return write_output(arguments.text("output"), text).map([] { return 0; });
}

}  // namespace

Command schema_command() {
  return {
      .name = "schema",
      .summary = "print a JSON Schema of the space file, for editors that complete and check it",
      .options = {{"-o,--output", "FILE", "where to write it; default: standard output"}},
      .examples =
          "  detol schema > detol.schema.json\n"
          "  detol schema -o detol.schema.json",
      .run = run_schema};
}

}  // namespace detol::inline cli
