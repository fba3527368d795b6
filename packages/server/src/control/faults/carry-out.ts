import { ConnectionDropped, type Cut, WorkerCrash } from '../../core/faults.ts'
import { draw } from './delay.ts'
import { errorOf } from './errors.ts'
import type { Effect, Rule, Subject } from './rule.ts'
import type { Strike } from './strike.ts'

type Moment = 'BEFORE' | 'AFTER'

/** Only the last rule may end the event. @throws the injected error, in place of the result of `work` */
export async function applyEffects<T>(strike: Strike, work: () => Promise<T>): Promise<T> {
  const { rules } = strike
  for (const rule of rules) await applyEffect(strike, rule, 'BEFORE')
  if (rules.some(({ effect }) => 'answerTwice' in effect)) await work()
  const answer = await work()
  for (const rule of rules) await applyEffect(strike, rule, 'AFTER')
  return answer
}

export function cutBy(rules: readonly Rule[]): Cut | undefined {
  const effect = rules.at(-1)?.effect
  if (effect === undefined) return undefined
  if ('dropConnection' in effect) return 'dropped'
  return 'truncateAfterBytes' in effect ? { afterBytes: effect.truncateAfterBytes } : undefined
}

async function applyEffect(strike: Strike, rule: Rule, moment: Moment): Promise<void> {
  const { effect } = rule
  if (momentOf(effect, strike.subject) !== moment) return
  if ('delay' in effect) await wait(strike, rule, draw(effect.delay, rule.delaySeed(strike.seed)))
  else if ('competingWrite' in effect) await strike.request?.writeTarget()
  else if ('hangAtPercentage' in effect) await hang(strike, rule, effect.hangAtPercentage)
  else if ('crashWorker' in effect) throw new WorkerCrash()
  else if ('dropConnection' in effect) throw new ConnectionDropped()
  else if ('error' in effect || 'driverFault' in effect) throw await errorOf(effect, strike)
}

function momentOf(effect: Effect, { operation }: Subject): Moment | undefined {
  // After the commit the connection is dropped by cutting the answer, see `cutBy`.
  if ('dropConnection' in effect) return effect.dropConnection === 'BEFORE_COMMIT' ? 'BEFORE' : undefined
  // The other write must come between a read and the change that follows: before a mutation, or after a read.
  if ('competingWrite' in effect) return operation?.mutates === true ? 'BEFORE' : 'AFTER'
  if ('hangAtPercentage' in effect) return 'BEFORE'
  const isMomentary = 'error' in effect || 'driverFault' in effect || 'delay' in effect || 'crashWorker' in effect
  return isMomentary ? (effect.moment ?? 'BEFORE') : undefined
}

async function wait({ clock, ended }: Strike, { retired }: Rule, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return
  try {
    await clock.sleep(milliseconds, AbortSignal.any([retired, ended]), 'fault')
  } catch (error) {
    ended.throwIfAborted()
    if (!retired.aborted) throw error
  }
}

/** Holds the task until the rule is removed, also across restarts. */
async function hang({ step, subject, book, ended }: Strike, rule: Rule, percentage: number): Promise<void> {
  await step?.reach(percentage)
  await book.countsWritten()
  await step?.rest(() => untilAborted(AbortSignal.any([rule.retired, ended])))
  ended.throwIfAborted()
  rule.heldTasks.delete(subject.task?.extId ?? '')
  book.noteChange(rule)
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
