# A client of bakeoff in Ruby. Copy this file beside your program, and say there:
#
#     require_relative "bakeoff"
#     Bakeoff.serve("buy" => ->(number) { … }, "browse" => ->(number) { … })
#
# Connect before that: what serve is given is timed. An operation is called with its number, which is the
# same in every run with the same seed. What it returns is not looked at, but for a pair: [rows, bytes].
module Bakeoff
  SOCKET = IO.for_fd(Integer(ENV.fetch("BAKEOFF_FD")), "r+", autoclose: false)
  SOCKET.sync = true
  CLIENT = Integer(ENV.fetch("BAKEOFF_CLIENT"))
  SEED = Integer(ENV.fetch("BAKEOFF_SEED"))

  # Says in an operation that transactions of it were run again.
  def self.retried(times = 1)
    SOCKET.puts("retry #{times}")
  end

  # Runs operations until bakeoff says stop.
  def self.serve(operations)
    SOCKET.puts("ready")
    while (line = SOCKET.gets)
      word, name, number = line.split
      break if word == "stop"

      SOCKET.puts(run(operations.fetch(name), Integer(number))) if word == "do"
    end
  end

  def self.run(operation, number)
    done = operation.call(number)
    pair = done.is_a?(Array) && done.size == 2 && done.all?(Integer)
    pair ? "ok #{done[0]} #{done[1]}" : "ok"
  rescue StandardError => e
    "error #{e.class} #{e.message.tr("\n", " ")[0, 1000]}"
  end
end
