import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { IdleThreads } from '../../store/idle-threads.ts'
import { QueryStopped } from '../../store/store.ts'
import { defaultSettings, type Journal, Journals, journalFolder } from './journals.ts'
import type { CallText } from './protocol.ts'
import { readCallFilter } from './reading/call-filter.ts'

const log = { warn: () => undefined, error: () => undefined }

function startJournals(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  let journals = new Journals({ log })
  t.after(async () => {
    await journals.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    journals: () => journals,
    async restart() {
      await journals.close()
      journals = new Journals({ log })
    },
  }
}

const record = (fields: object = {}): CallText => {
  const own = JSON.stringify({
    path: '/api/platform/v4.3/config/categories',
    status: 200,
    errorCodes: [],
    unreadFields: [],
    warnings: [],
    rewrites: [],
    faults: [],
    ...fields,
  })
  const began = Date.UTC(2026, 2, 2, 9)
  const shared = ',"address":"127.0.0.1","profile":"spec","method":"GET"'
  return { began, ended: began, shared, own: `,${own.slice(1, -1)}` }
}
const writeMany = (journal: Journal, count: number, fields: object = {}): void => {
  for (let index = 0; index < count; index++) journal.write(() => record(fields))
}
const sequences = async (journal: Journal, filter?: string): Promise<number[]> => {
  const { documents } = await journal.page({
    ...(filter === undefined ? {} : { filter: readCallFilter(filter) }),
    limit: 1000,
    offset: 0,
  })
  return documents.map((document) => JSON.parse(document).sequence)
}

const foundOf = (world: string): string => join(journalFolder(world), 'found.sqlite')
const logOf = (world: string): string => join(journalFolder(world), '0000000000000001.calls')
const bytesIn = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

test('bodies become part of the record, whatever their characters', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.write(() => ({ ...record(), own: `${record().own},"answer":{`, answer: { text: 'é"b\\n{}\u0000' } }))
  const { documents } = await journal.page({ limit: 1 })
  assert.deepEqual(JSON.parse(documents[0] as string).answer, { sizeBytes: 9, text: 'é"b\\n{}\u0000' })
  assert.deepEqual(await sequences(journal, "contains(answer/text,'b')"), [1])
})

test('written calls are in the next query, in order and numbered', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.write(() => record({ status: 201 }))
  journal.write(() => record({ status: 404, errorCodes: ['PLAT-10007'] }))
  assert.deepEqual(await sequences(journal), [1, 2])
  assert.deepEqual(await sequences(journal, "status ge 400 and errorCodes/any(c:c eq 'PLAT-10007')"), [2])
  assert.deepEqual(await sequences(journal, 'status eq 500'), [])
})

test('the thread of closed journals serves the next ones, which have bounds of their own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const idleThreads = new IdleThreads()
  const first = new Journals({ log, idleThreads })
  first.of(folder).configure({ ...defaultSettings, maximumCalls: 2 })
  writeMany(first.of(folder), 3)
  await first.close()
  const thread = idleThreads.take()
  assert.ok(thread)
  idleThreads.keep(thread)

  const second = new Journals({ log, idleThreads })
  writeMany(second.of(folder), 3)
  assert.deepEqual(await sequences(second.of(folder)), [2, 3, 4, 5, 6])
  assert.equal(idleThreads.take(), undefined)
  await second.close()
  assert.equal(idleThreads.take(), thread)
  await thread.terminate()
})

test('calls above the maximum count drop the oldest ones, and the state counts them', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.configure({ ...defaultSettings, maximumCalls: 10 })
  writeMany(journal, 25)
  assert.deepEqual(await sequences(journal), [16, 17, 18, 19, 20, 21, 22, 23, 24, 25])
  const { first, last, dropped, missed } = await journal.state()
  assert.deepEqual({ first, last, dropped, missed }, { first: 16, last: 25, dropped: 15, missed: 0 })
})

test('indexed calls are dropped before calls in the log, each as soon as the bounds require', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.configure({ ...defaultSettings, maximumCalls: 15 })
  writeMany(journal, 10)
  assert.equal((await sequences(journal)).length, 10)
  writeMany(journal, 10)
  const { first } = await journal.state()
  assert.equal(first, 6)
  writeMany(journal, 10)
  assert.equal((await journal.state()).first, 16)
  writeMany(journal, 2)
  assert.deepEqual(
    await sequences(journal),
    Array.from({ length: 15 }, (_, index) => 18 + index),
  )
  assert.equal((await journal.state()).dropped, 17)
})

test('calls above the maximum size drop the oldest ones', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  const maximumSizeBytes = 64 * 1024
  journal.configure({ ...defaultSettings, maximumSizeBytes })
  writeMany(journal, 30, { decision: 'é'.repeat(2000) })
  const { first, last, sizeBytes, dropped } = await journal.state()
  assert.ok(sizeBytes <= maximumSizeBytes && sizeBytes > maximumSizeBytes - 5000, String(sizeBytes))
  assert.deepEqual([last, dropped], [30, first - 1])
  assert.ok(first > 10)
})

test('the size of a call does not depend on whether it was indexed', async (t) => {
  const { journals, folder } = startJournals(t)
  const sizes = async (isAsked: boolean): Promise<object> => {
    const journal = journals().of(mkdtempSync(join(folder, 'world-')))
    journal.configure({ ...defaultSettings, maximumSizeBytes: 64 * 1024 })
    for (let round = 0; round < 4; round++) {
      writeMany(journal, 15, { decision: '"é"'.repeat(round * 300) })
      if (isAsked) await sequences(journal)
    }
    return await journal.state()
  }
  assert.deepEqual(await sizes(true), await sizes(false))
})

test('a call whose record cannot be built is left out, and no other', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  writeMany(journal, 1)
  journal.write(() => {
    throw new Error('no words')
  })
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1, 2])
  assert.equal((await journal.state()).missed, 1)
})

test('a call that is larger than the maximum size is dropped at once, and numbers stay consecutive', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.configure({ ...defaultSettings, maximumSizeBytes: 64 * 1024 })
  writeMany(journal, 5)
  writeMany(journal, 1, { decision: 'x'.repeat(70_000) })
  assert.deepEqual(await sequences(journal), [])
  const { first, last, dropped, sizeBytes } = await journal.state()
  assert.deepEqual([first, last, dropped, sizeBytes], [7, 6, 6, 0])
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [7])
})

test('the bounds at the time of a call apply to it', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  writeMany(journal, 10)
  journal.configure({ ...defaultSettings, maximumCalls: 5 })
  journal.configure(defaultSettings)
  const { first, dropped } = await journal.state()
  assert.deepEqual([first, dropped], [6, 5])
})

test('a reopened journal has the bounds of its new configuration', async (t) => {
  const { journals, folder } = startJournals(t)
  const large = { ...defaultSettings, maximumCalls: 200_000 }
  journals().of(folder).configure(large)
  writeMany(journals().of(folder), 100_050)
  await journals().closeJournal(folder)
  const journal = journals().of(folder)
  journal.configure(large)
  assert.equal((await journal.state()).dropped, 0)
})

test('a journal that is reopened while it is being closed continues to record', async (t) => {
  const { journals, folder } = startJournals(t)
  writeMany(journals().of(folder), 2)
  const left = journals().closeJournal(folder)
  const journal = journals().of(folder)
  writeMany(journal, 1)
  await left
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1, 2, 3, 4])
})

test('a removed journal rejects queries, and is not recreated', async (t) => {
  const { journals, folder } = startJournals(t)
  const [world, other] = [mkdtempSync(join(folder, 'world-')), mkdtempSync(join(folder, 'other-'))]
  const journal = journals().of(world)
  writeMany(journal, 1)
  await journal.state()
  await journals().remove(world)
  await assert.rejects(journal.state(), QueryStopped)
  journal.configure({ ...defaultSettings, maximumCalls: 5 })
  journals().of(world)
  // The thread has handled all earlier messages by then.
  await journals().of(other).state()
  assert.deepEqual(readdirSync(world), [])
})

test('lower bounds apply at once, and free disk space', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  writeMany(journal, 500, { decision: 'x'.repeat(5000) })
  await journal.page({ limit: 1 })
  journal.configure({ ...defaultSettings, maximumCalls: 1 })
  assert.deepEqual(await sequences(journal), [500])
  await journals().closeJournal(folder)
  assert.ok(bytesIn(journalFolder(folder)) < 200_000)
})

test('a cleared journal is empty, and numbers continue', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  writeMany(journal, 3)
  const { first, last, sizeBytes, dropped } = await journal.clear()
  assert.deepEqual({ first, last, sizeBytes, dropped }, { first: 4, last: 3, sizeBytes: 0, dropped: 0 })
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [4])
})

test('calls survive a restart, and numbers continue', async (t) => {
  const { journals, folder, restart } = startJournals(t)
  writeMany(journals().of(folder), 3)
  await restart()
  const journal = journals().of(folder)
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1, 2, 3, 4])
})

test('a removed journal leaves no file, and starts again at number 1', async (t) => {
  const { journals, folder } = startJournals(t)
  writeMany(journals().of(folder), 3)
  await journals().of(folder).state()
  await journals().remove(folder)
  assert.deepEqual(readdirSync(folder), [])
  const journal = journals().of(folder)
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1])
})

test('a damaged database is replaced by an empty one', async (t) => {
  const { journals, folder } = startJournals(t)
  mkdirSync(journalFolder(folder))
  writeFileSync(foundOf(folder), 'this is no journal, and no database either'.repeat(100))
  const journal = journals().of(folder)
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1])
})

for (const [what, damage] of Object.entries({
  'behind the first page of what is found': (folder: string) => {
    const bytes = readFileSync(foundOf(folder))
    writeFileSync(foundOf(folder), bytes.fill(0xa5, 4 * 1024))
  },
  'in the calls of its log': (folder: string) => {
    const bytes = readFileSync(logOf(folder))
    writeFileSync(logOf(folder), bytes.fill(0, 100))
  },
  'at the end of its log': (folder: string) => truncateSync(logOf(folder), statSync(logOf(folder)).size - 1),
  'by the loss of its log': (folder: string) => rmSync(logOf(folder)),
}))
  test(`a journal that is damaged ${what} is replaced when a query finds the damage`, async (t) => {
    const { journals, folder, restart } = startJournals(t)
    writeMany(journals().of(folder), 3)
    await restart()
    damage(folder)
    const journal = journals().of(folder)
    await journal.page({ limit: 1 })
    writeMany(journal, 1)
    assert.deepEqual(await sequences(journal), [1])
  })

test('a journal with a damaged older log file is replaced when a query finds the damage', async (t) => {
  const { journals, folder, restart } = startJournals(t)
  writeMany(journals().of(folder), 150, { decision: 'x'.repeat(60_000) })
  await restart()
  truncateSync(logOf(folder), statSync(logOf(folder)).size - 1)
  const journal = journals().of(folder)
  assert.equal((await journal.state()).last, 150)
  await journal.page({ limit: 1 })
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1])
})

test('a journal whose log cannot be opened leaves nothing open, and works again later', async (t) => {
  const { journals, folder, restart } = startJournals(t)
  writeMany(journals().of(folder), 3)
  await restart()
  const inItsWay = join(journalFolder(folder), '0000000000000004.calls')
  mkdirSync(inItsWay)
  const journal = journals().of(folder)
  for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(journal.state(), /EISDIR/)
  rmSync(inItsWay, { recursive: true })
  assert.deepEqual(await sequences(journal), [1, 2, 3])
})

test('calls that a killed process appended but did not count are recovered, and an incomplete part is cut off', async (t) => {
  const { journals, folder, restart } = startJournals(t)
  writeMany(journals().of(folder), 3)
  await restart()
  const counted = readFileSync(foundOf(folder))
  writeMany(journals().of(folder), 2)
  await restart()
  writeFileSync(foundOf(folder), counted)
  appendFileSync(logOf(folder), Uint8Array.of(200, 0, 0, 0, 1, 0, 0, 0, 200, 0, 0, 0, 1, 2, 3))
  const journal = journals().of(folder)
  const { last, sizeBytes } = await journal.state()
  assert.deepEqual([last, sizeBytes % 5, sizeBytes > 0], [5, 0, true])
  writeMany(journal, 1)
  assert.deepEqual(await sequences(journal), [1, 2, 3, 4, 5, 6])
})

test('log files are deleted when all their calls are out of bounds', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  const maximumSizeBytes = 6 * 1024 * 1024
  journal.configure({ ...defaultSettings, maximumSizeBytes })
  for (let round = 0; round < 15; round++) {
    writeMany(journal, 20, { decision: 'x'.repeat(50_000) })
    const { first, last, dropped, sizeBytes } = await journal.state()
    assert.deepEqual([last, dropped], [20 * (round + 1), first - 1])
    assert.ok(sizeBytes <= maximumSizeBytes)
    assert.ok(bytesIn(journalFolder(folder)) < 12 * 1024 * 1024)
  }
  const { first } = await journal.state()
  const found = await sequences(journal)
  assert.deepEqual([found.at(0), found.at(-1), found.length], [first, 300, 301 - first])
})

test('a journal that cannot be opened for some time is kept, and counts the missed calls', async (t) => {
  const { journals, folder, restart } = startJournals(t)
  writeMany(journals().of(folder), 3)
  await restart()
  const inItsWay = `${foundOf(folder)}-journal`
  rmSync(inItsWay)
  mkdirSync(inItsWay)
  const journal = journals().of(folder)
  for (const count of [10, 5]) {
    writeMany(journal, count)
    await assert.rejects(journal.state(), /cannot be read/)
  }
  rmSync(inItsWay, { recursive: true })
  const { last, missed } = await journal.state()
  assert.deepEqual({ last, missed }, { last: 3, missed: 15 })
  assert.deepEqual(await sequences(journal), [1, 2, 3])
})

test('calls that could not be written to a removed journal are not counted as missed by its successor', async (t) => {
  const { journals, folder } = startJournals(t)
  const world = join(folder, 'to-be-made')
  await journals().of(folder).state()
  writeMany(journals().of(world), 40, { decision: 'x'.repeat(60_000) })
  await journals().remove(world)
  mkdirSync(world)
  const journal = journals().of(world)
  writeMany(journal, 1)
  assert.equal((await journal.state()).missed, 0)
})

test('bounds that cannot be applied do not affect other journals', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  await journal.state()
  writeMany(journal, 2)
  journals()
    .of(join(folder, 'not-there'))
    .configure({ ...defaultSettings, maximumCalls: 5 })
  assert.deepEqual(await sequences(journal), [1, 2])
})

test('a world without calls has no journal file', async (t) => {
  const { journals, folder } = startJournals(t)
  journals().of(folder).configure(defaultSettings)
  await journals().remove(folder)
  await journals().closeJournal(folder)
  assert.deepEqual(readdirSync(folder), [])
})

test('more journals than may be open at once stay separate', async (t) => {
  const { journals, folder } = startJournals(t)
  const worlds = Array.from({ length: 40 }, () => mkdtempSync(join(folder, 'world-')))
  for (const world of worlds) writeMany(journals().of(world), 2)
  for (const world of worlds) assert.deepEqual(await sequences(journals().of(world)), [1, 2])
})

test('an excerpt respects its limits, continues where the previous one ended, and counts dropped calls', async (t) => {
  const { journals, folder } = startJournals(t)
  const journal = journals().of(folder)
  journal.configure({ ...defaultSettings, maximumCalls: 6 })
  writeMany(journal, 10)
  const wanted = { maximumCalls: 4, maximumBytes: 1_000_000 }
  const piece = await journal.excerpt({ ...wanted, after: 2 })
  assert.deepEqual(
    [piece.calls.map(({ sequence }) => sequence), piece.readUpTo, piece.isComplete, piece.missed],
    [[5, 6, 7, 8], 8, false, 2],
  )
  const rest = await journal.excerpt({ ...wanted, after: 8 })
  assert.deepEqual([rest.calls.map(({ sequence }) => sequence), rest.isComplete, rest.missed], [[9, 10], true, 0])
  const small = await journal.excerpt({ after: 4, maximumCalls: 100, maximumBytes: 1 })
  assert.equal(small.calls.length, 1)
  const none = await journal.excerpt({ ...wanted, after: 4, filter: readCallFilter('status eq 500') })
  assert.deepEqual([none.calls, none.readUpTo, none.isComplete], [[], 10, true])
})
