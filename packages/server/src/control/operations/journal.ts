import type { EntityOf } from '@hyperplane/contract'
import { Journal, journalOperations } from '@hyperplane/contract/control/journal'
import { ApiError, invalid } from '../../core/api-error.ts'
import { TwoPhaseEffect } from '../../core/two-phase-effect.ts'
import type { Store } from '../../store/store.ts'
import { implementWithinWorld, type WorldReadContext } from '../context.ts'
import { millisecondsOf } from '../duration.ts'
import { defaultSettings, type JournalSettings, type Journal as KeptJournal } from '../journal/journals.ts'
import { evaluateAssertion } from '../journal/reading/assertion.ts'
import { readCallFilter } from '../journal/reading/call-filter.ts'
import { streamEvents } from '../journal/reading/event-stream.ts'
import { asHar, asJsonLines } from '../journal/reading/export.ts'
import { unknownOperations } from '../journal/reading/unknown-operations.ts'

type JournalEntity = EntityOf<typeof Journal>

export const journal = implementWithinWorld(
  journalOperations,
  {
    async updateJournal(ctx, { body }) {
      const { journal } = ctx.drivers
      const before = journal.settings
      const settings = { ...defaultSettings, ...settingsIn(body) }
      let counts = {}
      // Apply before storing: lower bounds drop calls, and the answer must count the remaining ones.
      return new TwoPhaseEffect({
        async make() {
          journal.configure(settings)
          counts = await countsOf(journal)
        },
        async conclude({ store }) {
          return { ...(await store.replace(Journal, { ...ctx.target, ...settings })), ...counts }
        },
        // Calls that lower bounds dropped do not come back.
        async giveUp() {
          journal.configure(before)
        },
      })
    },

    async clearJournal(ctx) {
      await ctx.drivers.journal.clear()
      return { ...settingsEntity(ctx.drivers.journal.settings), ...(await countsOf(ctx.drivers.journal)) }
    },

    async assertCalls(ctx, { body }) {
      const { clock } = await ctx.drivers.instance()
      const { atLeast, atMost, exactly, within } = body
      const filter = body.filter === undefined ? undefined : readCallFilter(body.filter)
      for (const warning of unknownOperations(filter)) ctx.warn(warning)
      const settled = await evaluateAssertion(
        { journal: ctx.drivers.journal, clock, real: ctx.clock },
        {
          filter,
          atLeast,
          atMost,
          exactly,
          withinMilliseconds: within === undefined ? 0 : (millisecondsOf(within) as number),
        },
      )
      return { ...settled, droppedCalls: (await ctx.drivers.journal.state()).dropped }
    },

    async exportJournal(ctx, { query }) {
      const { journal } = ctx.drivers
      if (query.parameters['format'] === 'jsonl')
        return {
          contentType: 'application/x-ndjson',
          fileName: `${ctx.drivers.world.name}.jsonl`,
          content: asJsonLines(journal, query.filter),
        }
      const { dropped } = await journal.state()
      const content = asHar(journal, query.filter, {
        origin: ctx.drivers.origin,
        version: ctx.drivers.version,
        comment: `Calls of the world ${ctx.drivers.world.name}; ${dropped} older ones went. Durations are those of its clock.`,
      })
      return { contentType: 'application/json', fileName: `${ctx.drivers.world.name}.har`, content }
    },

    async streamJournal(ctx, { query, headers }) {
      const after = lastSeen(headers.lastEventId) ?? (query.parameters['after'] as number | undefined)
      const content = streamEvents(ctx.drivers.journal, { after, filter: query.filter }, ctx.clock)
      return { contentType: 'text/event-stream', content }
    },
  },
  {
    rules: {
      assertCalls: ({ body }) => [
        ...faultsOf(() => body.filter && readCallFilter(body.filter)),
        ...oneBound(body),
        ...durationFaults(body.within),
      ],
    },
    present: [[Journal, async (ctx, entities) => withCounts(ctx, entities)]],
    turns: { updateJournal: () => ['settings'] },
  },
)

export async function loadJournalSettings(store: Store): Promise<JournalSettings> {
  const [stored] = await store.find(Journal)
  if (stored !== undefined) return { ...defaultSettings, ...settingsIn(stored) }
  await store.transaction((transaction) => transaction.insert(Journal, settingsEntity(defaultSettings)))
  return defaultSettings
}

const settingsEntity = (settings: JournalSettings): JournalEntity =>
  ({ extId: 'journal', ...settings }) as JournalEntity

const settingsIn = ({
  isRecording,
  maximumCalls,
  maximumSizeBytes,
}: Partial<JournalSettings>): Partial<JournalSettings> =>
  Object.fromEntries(
    Object.entries({ isRecording, maximumCalls, maximumSizeBytes }).filter(([, value]) => value !== undefined),
  )

async function withCounts(
  ctx: WorldReadContext,
  entities: readonly JournalEntity[],
): Promise<readonly JournalEntity[]> {
  const counts = await countsOf(ctx.drivers.journal)
  return entities.map((entity) => ({ ...entity, ...counts }))
}

async function countsOf(journal: KeptJournal) {
  const { first, last, sizeBytes, dropped, missed } = await journal.state()
  const callCount = last - first + 1
  return {
    callCount,
    sizeBytes,
    droppedCalls: dropped,
    missedCalls: missed,
    ...(callCount === 0 ? {} : { firstSequence: first, lastSequence: last }),
  }
}

function faultsOf(check: () => unknown): readonly ApiError[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof ApiError) return [error]
    throw error
  }
}

function oneBound(body: { atLeast?: number; atMost?: number; exactly?: number }): readonly ApiError[] {
  const given = (['atLeast', 'atMost', 'exactly'] as const).filter((name) => body[name] !== undefined)
  const [, second] = given
  return second === undefined
    ? []
    : [invalid(second, `expected one of atLeast, atMost and exactly, found ${given.join(' and ')}`)]
}

function durationFaults(text: string | undefined): readonly ApiError[] {
  if (text === undefined || millisecondsOf(text) !== undefined) return []
  return [invalid('within', `expected an ISO 8601 duration such as PT5S, found ${JSON.stringify(text)}`)]
}

function lastSeen(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalid('Last-Event-ID', `expected the number of a call, found ${JSON.stringify(text.slice(0, 80))}`)
}
