# The layers: every room, and which rooms it may use. A room may use rooms above it alone, so that
# there are no circles. detol_module() links by this table; the test `layers` holds every #include to
# it (tests/check_layers.cmake).
#
# A room is a folder of the product with sources of its own. Rooms of one top-level folder are
# siblings: they also see each other's SIBLING_HEADERS.

# room(<folder> <rooms that it may use>)
macro(room folder)
  list(APPEND rooms ${folder})
  set(${folder}_MAY_USE ${ARGN})
endmacro()

room(core)

room(encodings/space             core)
room(encodings/network           core)
room(encodings/schema            core encodings/space)
room(encodings/common            core encodings/space encodings/network encodings/schema)
room(encodings/chain             core encodings/common)
room(encodings/cell              core encodings/space encodings/common)
room(encodings/cgp               core encodings/space encodings/common)
room(encodings/graph             core encodings/space encodings/common)
room(encodings/study             core encodings/space encodings/network encodings/schema
                                 encodings/common encodings/chain encodings/cell encodings/cgp
                                 encodings/graph)
room(encodings/foreign           core encodings/space encodings/schema encodings/study)

room(surrogate                   core encodings/space)
room(knowledge/storage           core)
room(knowledge                   core encodings/space encodings/study knowledge/storage)
room(knowledge/exchange          core encodings/space encodings/study knowledge/storage knowledge)
room(search                      core encodings/space surrogate)

room(trainer/reports             core encodings/space encodings/study)
room(trainer/collectives         core encodings/study)
room(trainer/data                core encodings/network encodings/study)
room(trainer/data/formats        core encodings/network encodings/study trainer/data)
room(trainer/backends            core encodings/network encodings/study trainer/reports
                                 trainer/collectives trainer/data)
room(trainer/backends/program    encodings/network encodings/study trainer/collectives
                                 trainer/backends)
room(trainer/backends/reference  encodings/network encodings/study trainer/collectives
                                 trainer/backends trainer/backends/program)
room(trainer/backends/cpu        core encodings/network encodings/study trainer/collectives
                                 trainer/backends trainer/backends/program)
room(trainer/backends/cuda       core encodings/network encodings/study trainer/collectives trainer/data
                                 trainer/backends trainer/backends/program)
room(trainer/inheritance         encodings/network trainer/backends)
room(trainer/programs            core)
room(trainer                     core encodings/space encodings/network encodings/study
                                 trainer/reports trainer/collectives trainer/data trainer/data/formats
                                 trainer/backends trainer/backends/reference trainer/backends/cpu
                                 trainer/backends/cuda trainer/inheritance trainer/programs)

room(trainer/pruning             core encodings/network encodings/study trainer/data
                                 trainer/backends trainer)

room(trainer/quantization        core encodings/network trainer/backends trainer)

room(trainer/landscape           core encodings/network encodings/study trainer/data
                                 trainer/backends trainer)

room(export                      core encodings/space encodings/network trainer/data
                                 trainer/backends trainer trainer/quantization)

room(scheduler/pruners           core encodings/space encodings/study surrogate)
room(scheduler                   core encodings/space encodings/network encodings/study knowledge
                                 search trainer/reports scheduler/pruners)
room(scheduler/asking            core encodings/space encodings/network encodings/study knowledge
                                 search trainer/reports scheduler/pruners scheduler)
room(scheduler/monitor           core encodings/space surrogate scheduler)
room(scheduler/processes         core encodings/study search trainer/collectives trainer/data
                                 trainer scheduler)
room(scheduler/launchers         core trainer/collectives scheduler/processes)
room(scheduler/run               core encodings/space encodings/network encodings/study surrogate
                                 knowledge search trainer/collectives trainer/data
                                 trainer/backends/cuda trainer/inheritance trainer scheduler/pruners
                                 scheduler scheduler/asking scheduler/monitor scheduler/processes
                                 scheduler/launchers)
room(scheduler/simulation        core encodings/space encodings/network encodings/study knowledge
                                 search trainer/data trainer scheduler/pruners scheduler scheduler/run)

room(report                      core encodings/space encodings/network encodings/study surrogate
                                 knowledge scheduler scheduler/monitor)

room(web                         core)
room(printing                    core knowledge)
room(command_line                core printing)

room(studies                     core encodings/space encodings/common encodings/network
                                 encodings/study surrogate knowledge/storage knowledge
                                 knowledge/exchange search trainer/data trainer/data/formats
                                 trainer/inheritance scheduler scheduler/run printing)
room(models                      core encodings/network encodings/study knowledge trainer/data
                                 trainer/data/formats trainer trainer/pruning trainer/quantization
                                 trainer/landscape export scheduler scheduler/launchers
                                 scheduler/run web printing studies)
room(report/gathering            core encodings/network encodings/study knowledge trainer/data export
                                 report studies models)
room(dashboard                   core knowledge report web studies report/gathering)
room(cli                         core encodings/schema encodings/common encodings/network encodings/study
                                 encodings/foreign surrogate knowledge/storage
                                 knowledge knowledge/exchange search
                                 trainer/collectives trainer/data trainer/data/formats
                                 trainer/backends/cpu trainer/backends/cuda trainer trainer/inheritance
                                 trainer/pruning trainer/quantization trainer/landscape export
                                 scheduler/pruners scheduler scheduler/monitor scheduler/launchers
                                 scheduler/run scheduler/simulation report web printing command_line
                                 studies models report/gathering dashboard)
