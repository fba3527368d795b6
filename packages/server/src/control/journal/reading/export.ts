import type { TypedFilter } from '../../../odata/index.ts'
import type { Journal } from '../journals.ts'
import { type HarOptions, harEntry, harFrame } from './har.ts'

const pieceBytes = 1024 * 1024
const pieceCalls = 1000

export async function* asJsonLines(journal: Journal, filter: TypedFilter | undefined): AsyncGenerator<Uint8Array> {
  for await (const documents of pieces(journal, filter))
    yield Buffer.from(documents.map((document) => `${document}\n`).join(''))
}

export async function* asHar(
  journal: Journal,
  filter: TypedFilter | undefined,
  options: HarOptions,
): AsyncGenerator<Uint8Array> {
  const { begin, end } = harFrame(options)
  yield Buffer.from(begin)
  let comma = ''
  for await (const documents of pieces(journal, filter)) {
    const entries = documents.map((document) => JSON.stringify(harEntry(JSON.parse(document), options)))
    yield Buffer.from(comma + entries.join(','))
    comma = ','
  }
  yield Buffer.from(end)
}

/** Ends at the newest call at the start of the export: new calls could keep it going for ever. */
async function* pieces(journal: Journal, filter: TypedFilter | undefined): AsyncGenerator<string[]> {
  const { last: upTo } = await journal.state()
  let after = 0
  for (;;) {
    const request = { after, upTo, maximumCalls: pieceCalls, maximumBytes: pieceBytes }
    const {
      calls,
      readUpTo: lookedUpTo,
      isComplete: isAll,
    } = await journal.excerpt(filter === undefined ? request : { ...request, filter })
    if (calls.length > 0) yield calls.map(({ document }) => document)
    if (isAll) return
    after = lookedUpTo
  }
}
