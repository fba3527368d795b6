/**
 * Compares rates on a busy machine: all are measured in short alternating slices, each round starts with another one,
 * and the result for a pair is the median of its ratios within the rounds. A temporary slowdown of the machine then
 * affects both sides of a ratio, or is outvoted.
 */
import { type Get, load } from './load.ts'
import { hasWrk, wrkRate } from './wrk.ts'

export interface Contender extends Get {
  /** Done before each of its slices. */
  readonly prepare?: () => Promise<void>
}

export interface Rates<N extends string> {
  readonly rounds: number
  /** Answers a second, the median of all rounds. */
  perSecond(name: N): number
  /** Ratio of this rate to the other one. */
  share(name: N, against: N): number
}

const usualRounds = 15
const manyConnections = 16

/** Longest warm-up in seconds, even if the rate still grows. */
const longestWarmUp = 15

export async function sideBySide<N extends string>(
  contenders: Readonly<Record<N, Contender>>,
  secondsEach: number,
  { connections = manyConnections, rounds = usualRounds } = {},
): Promise<Rates<N>> {
  const names = Object.keys(contenders) as N[]
  const rates = new Map<N, number[]>(names.map((name) => [name, []]))
  const run = async (name: N, seconds: number): Promise<number> => {
    const contender = contenders[name]
    await contender.prepare?.()
    return hasWrk ? wrkRate(contender, connections, seconds) : ownRate(contender, connections, seconds)
  }
  /** Runs until the rate stops growing: the engine optimises the code during tens of thousands of requests. */
  async function warmUp(name: N): Promise<void> {
    let best = 0
    let notBetter = 0
    for (let second = 0; second < longestWarmUp && notBetter < 3; second++) {
      const rate = await run(name, 1)
      notBetter = rate > best * 1.05 ? 0 : notBetter + 1
      best = Math.max(best, rate)
    }
  }
  for (const name of names) await warmUp(name)
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] as N
      rates.get(name)?.push(await run(name, secondsEach / rounds))
    }
  }
  const of = (name: N): readonly number[] => rates.get(name) as number[]
  return {
    rounds,
    perSecond: (name) => median(of(name)),
    share: (name, against) => median(of(name).map((rate, round) => rate / (of(against)[round] as number))),
  }
}

async function ownRate({ target, path, headers }: Get, connections: number, seconds: number): Promise<number> {
  const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost', ...Object.entries(headers).map((each) => each.join(': '))]
  const request = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  const { perSecond, statuses } = await load(target, connections, seconds, () => request)
  if (statuses.size !== 1 || !statuses.has(200)) throw new Error(`GET ${path}: answers ${[...statuses]}`)
  return perSecond
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number
