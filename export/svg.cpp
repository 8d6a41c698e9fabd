// The graph of layers as a picture, which Graphviz draws from the format dot.

#include <fmt/format.h>

#include <cstdlib>

#include "core/file.h"
#include "core/program.h"
#include "export/formats.h"
#include "export/work_folder.h"

namespace detol::inline exporting {
namespace {

constexpr const char* kGraphviz = "dot";

std::size_t count_of(std::string_view part, std::string_view bytes) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(part); at != bytes.npos; at = bytes.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

std::string why_no_svg() {
  if (!find_program(kGraphviz).empty()) return "";
  return "svg needs the program dot of Graphviz; install it (Debian: graphviz), or export dot";
}

Result<std::string> svg_bytes(const Model& model) {
  if (const std::string why = why_no_svg(); !why.empty()) return fail(ErrorCode::kExport, why);
  const WorkFolder folder;
  if (folder.path().empty())
    return fail(ErrorCode::kExport, "cannot make a folder for temporary files; set TMPDIR");
  DETOL_ASSIGN(const std::string graph, dot_bytes(model));
  DETOL_TRY(write_file_durably(folder.path() / "graph.dot", graph));
  const std::filesystem::path drawn = folder.path() / "graph.svg";
  const std::string command = fmt::format(
      "{} -Tsvg -o {} {} >&2", shell_quoted(find_program(kGraphviz)), shell_quoted(drawn.string()),
      shell_quoted((folder.path() / "graph.dot").string()));
  if (std::system(command.c_str()) != 0)  // NOLINT(concurrency-mt-unsafe): glibc's is safe
    return fail(ErrorCode::kExport, "Graphviz cannot draw the network; export dot");
  return read_file(drawn);
}

Result<std::string> drawing_of(const Network& network) {
  Model model;
  model.network = network;
  return svg_bytes(model);
}

Result<void> compare_svg(std::string_view bytes, const Model& model) {
  if (bytes.find("<svg") == bytes.npos || bytes.find("</svg>") == bytes.npos)
    return fail(ErrorCode::kExport, "not an SVG picture, or a cut one");
  const std::size_t drawn = count_of("class=\"node\"", bytes), nodes = model.network.nodes().size();
  if (drawn == nodes) return {};
  return fail(ErrorCode::kExport,
              fmt::format("it draws {} layers, the network has {}", drawn, nodes));
}

}  // namespace detol::inline exporting
