import { clockOperations } from '@hyperplane/contract/control/clock'
import { ApiError, invalid } from '../../core/api-error.ts'
import { type ClockEvent, formatTime, lastTime, type Passage, type WorldClock } from '../../core/time/clock.ts'
import type { Instance } from '../../instance/instance.ts'
import { implementWithinWorld, type WorldContext } from '../context.ts'
import { durationFault, millisecondsOf } from '../duration.ts'

export const clock = implementWithinWorld(
  clockOperations,
  {
    getClock: async (ctx) => clockView(ctx.clock.now(), (await ctx.drivers.instance()).clock),
    freezeClock: (ctx) => changeMode(ctx, ({ clock }) => clock.setMode('frozen')),
    resumeClock: (ctx) => changeMode(ctx, ({ clock }) => clock.setMode('real')),
    scaleClock: (ctx, { body }) => changeMode(ctx, ({ clock }) => clock.setMode(body.scale)),
    advanceClock: (ctx, { body: { duration } }) =>
      moveClock(ctx, (clock) => {
        const by = millisecondsOf(duration) as number
        const expected = 'expected a duration that ends before the year 10000, with which times end'
        if (clock.now() + by > lastTime)
          throw invalid('duration', `${expected}; found ${JSON.stringify(duration)} from ${clock.iso()} on`)
        return clock.advance(by)
      }),
    async runClockToNextEvent(ctx) {
      const nothing = 'Nothing waits for a time to come in this world: start something first, or advance by a duration.'
      return moveClock(ctx, async (clock) => {
        const { next } = clock.waiting()
        if (next !== undefined && next.at > lastTime) {
          const fault = `What comes next in this world (${next.about || 'something that waits'}) is due after the year 9999, with which times end.`
          throw new ApiError('CONFLICT', { fault })
        }
        const passage = await clock.runToNextEvent()
        if (passage === undefined) throw new ApiError('CONFLICT', { fault: nothing })
        return passage
      })
    },
  },
  {
    rules: {
      advanceClock({ body: { duration } }) {
        const fault = durationFault(duration, false)
        return fault === undefined ? [] : [invalid('duration', fault)]
      },
    },
  },
)

/** Stores the new mode before it answers: the mode survives a crash. */
async function changeMode(ctx: WorldContext, change: (instance: Instance) => void) {
  const instance = await ctx.drivers.instance()
  change(instance)
  instance.noteClock()
  return clockView(ctx.clock.now(), instance.clock)
}

async function moveClock(ctx: WorldContext, move: (clock: WorldClock) => Promise<Passage>) {
  const instance = await ctx.drivers.instance()
  try {
    const { from, moments, last } = await move(instance.clock)
    return {
      clock: clockView(ctx.clock.now(), instance.clock),
      from: formatTime(from),
      moments,
      ...(last === undefined ? {} : { last: eventView(last) }),
    }
  } finally {
    instance.noteClock()
  }
}

function clockView(realTime: number, clock: WorldClock) {
  const { mode } = clock
  const { count, next } = clock.waiting()
  return {
    mode: typeof mode === 'number' ? ('scaled' as const) : mode,
    scale: mode === 'real' ? 1 : mode === 'frozen' ? 0 : mode,
    time: clock.iso(),
    realTime: formatTime(realTime),
    waiting: count,
    ...(next === undefined ? {} : { next: eventView(next) }),
  }
}

const eventView = ({ at, about }: ClockEvent) => ({
  time: formatTime(at),
  what: about === '' ? 'something that waits' : about,
})
