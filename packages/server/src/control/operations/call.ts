import { Call, callOperations } from '@hyperplane/contract/control/call'
import { notFound } from '../../core/standard.ts'
import { implementWithinWorld, type WorldReadContext } from '../context.ts'
import type { JournalState } from '../journal/protocol.ts'
import { isCall } from '../journal/reading/call-filter.ts'
import { unknownOperations } from '../journal/reading/unknown-operations.ts'

export const call = implementWithinWorld(callOperations, {
  async listCalls(ctx, { query }) {
    const { filter, orderby, page, limit } = query
    const { documents, total, state } = await ctx.drivers.journal.page({ filter, orderby, offset: page * limit, limit })
    warnOfGaps(ctx, state)
    for (const warning of unknownOperations(filter)) ctx.warn(warning)
    return { entities: documents.map((document) => JSON.parse(document)), total }
  },

  async getCall(ctx, { path }) {
    const sequence = path.sequence
    const { documents, state } = await ctx.drivers.journal.page({ filter: isCall(Number(sequence)), limit: 1 })
    const [document] = documents
    if (document === undefined) {
      warnOfGaps(ctx, state)
      throw notFound(Call, sequence, 'sequence')
    }
    return JSON.parse(document)
  },
})

function warnOfGaps(ctx: WorldReadContext, { dropped, missed }: JournalState): void {
  const { maximumCalls, maximumSizeBytes } = ctx.drivers.journal.settings
  if (dropped > 0)
    ctx.warn(`${dropped} calls went: the journal keeps the last ${maximumCalls} calls and ${maximumSizeBytes} bytes.`)
  if (missed > 0) ctx.warn(`${missed} calls came faster than they could be written, and are missing.`)
}
