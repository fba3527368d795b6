/** Which steps a walk may have, and how often each: requests most of all, and seldom what ends everything. */
import fc from 'fast-check'
import { events, rules } from './faults.ts'
import { requestNames } from './requests.ts'
import { ClockMove, Death, Event, Fork, ForkGoes, NoRules, Repeat, Requests, Reset, Rule, type Step } from './steps.ts'
import type { Intent } from './walker.ts'

const numbers = fc.array(fc.nat(9999), { maxLength: 12, size: 'max' })
const intent: fc.Arbitrary<Intent> = fc.record({
  name: fc.constantFrom(...requestNames),
  numbers,
})
const clockMoves = fc.constantFrom(
  ['advance', { duration: 'PT1S' }] as const,
  ['advance', { duration: 'PT2M' }] as const,
  ['advance', { duration: 'PT1H' }] as const,
  ['run-to-next-event'] as const,
  ['run-to-next-event'] as const,
  ['scale', { scale: 3600 }] as const,
)

const inAnyCase: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 40, arbitrary: intent.map((one) => new Requests([one])) },
  { weight: 12, arbitrary: fc.array(intent, { minLength: 2, maxLength: 4 }).map((all) => new Requests(all)) },
  { weight: 5, arbitrary: fc.nat(20).map((number) => new Repeat(number)) },
  { weight: 8, arbitrary: rules.map((rule) => new Rule(rule)) },
  { weight: 2, arbitrary: fc.constant(0).map(() => new NoRules()) },
  { weight: 7, arbitrary: events.map((event) => new Event(event)) },
  { weight: 10, arbitrary: clockMoves.map(([how, body]) => new ClockMove(how, body)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(40), fc.array(intent, { maxLength: 3 }))
      .map(([turns, intents]) => new Death(turns, intents)),
  },
  { weight: 1, arbitrary: fc.constant(0).map(() => new Reset()) },
]
const withForks: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 2, arbitrary: fc.constant(0).map(() => new Fork()) },
  { weight: 1, arbitrary: fc.constant(0).map(() => new ForkGoes()) },
]

const walkOf = (steps: readonly fc.WeightedArbitrary<Step>[], maxCommands: number, replayPath: string | undefined) =>
  fc.commands([fc.oneof(...steps)], {
    maxCommands,
    size: 'max',
    ...(replayPath === undefined ? {} : { replayPath }),
  })

export const walks = (maxCommands: number, replayPath?: string): fc.Arbitrary<Iterable<Step>> =>
  walkOf([...inAnyCase, ...withForks], maxCommands, replayPath)
/** Over sockets: whose insides nobody sees. */
export const walksOverSockets = (maxCommands: number, replayPath?: string): fc.Arbitrary<Iterable<Step>> =>
  walkOf(inAnyCase, maxCommands, replayPath)
