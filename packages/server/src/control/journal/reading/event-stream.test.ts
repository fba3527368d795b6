import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { defaultSettings, Journals } from '../journals.ts'
import { type StreamRequest, streamEvents } from './event-stream.ts'

function aJournal(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-stream-'))
  const journals = new Journals({ log: { warn: () => undefined, error: () => undefined } })
  const journal = journals.of(folder)
  t.after(async () => {
    await journals.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const beats: (() => void)[] = []
  const clock = {
    setTimer(_ms: number, run: () => void) {
      beats.push(run)
      return () => void beats.splice(beats.indexOf(run), 1)
    },
  }
  return {
    journals,
    journal,
    folder,
    write: (count: number, text = 'x') => {
      for (let index = 0; index < count; index++)
        journal.write(() => ({ began: 0, ended: 0, shared: '', own: `,"path":"${text}"` }))
    },
    beat: () => beats[0]?.(),
    read(wanted: Partial<StreamRequest> = {}) {
      const events = streamEvents(journal, { after: undefined, filter: undefined, ...wanted }, clock)
      return {
        next: async () => Buffer.from((await events.next()).value ?? 'ended').toString(),
        end: () => events.return(undefined),
      }
    },
  }
}

const ids = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

test('a stream opens at once, and sends calls that are recorded afterwards', async (t) => {
  const { read, write } = aJournal(t)
  write(2)
  const stream = read()
  assert.match(await stream.next(), /^: .*\nretry: 1000\n\n$/)
  const next = stream.next()
  write(2)
  const text = await next
  assert.deepEqual(ids(text), [3, 4])
  assert.match(text, /^id: 3\nevent: call\ndata: \{"sequence":3,.*\}\n\nid: 4\n/)
  await stream.end()
})

test('a resumed stream continues after the last call that the client has', async (t) => {
  const { read, write } = aJournal(t)
  write(5)
  const stream = read({ after: 3 })
  await stream.next()
  assert.deepEqual(ids(await stream.next()), [4, 5])
  await stream.end()
})

test('a client that reads too slowly gets the number of dropped calls', async (t) => {
  const { read, write, journal } = aJournal(t)
  journal.configure({ ...defaultSettings, maximumCalls: 3 })
  write(2)
  const stream = read({ after: 0 })
  await stream.next()
  assert.deepEqual(ids(await stream.next()), [1, 2])
  write(10)
  assert.equal(await stream.next(), 'event: gap\ndata: {"missed":7}\n\n')
  assert.deepEqual(ids(await stream.next()), [10, 11, 12])
  await stream.end()
})

test('each chunk of a long stream is small', async (t) => {
  const { read, write } = aJournal(t)
  write(300, 'y'.repeat(10_000))
  const stream = read({ after: 0 })
  await stream.next()
  const seen: number[] = []
  while (seen.length < 300) {
    const text = await stream.next()
    assert.ok(text.length < 300_000, String(text.length))
    seen.push(...ids(text))
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 300 }, (_, index) => index + 1),
  )
  await stream.end()
})

test('a stream without calls sends heartbeats', async (t) => {
  const { read, beat, journal } = aJournal(t)
  const stream = read()
  await stream.next()
  const next = stream.next()
  await journal.state()
  beat()
  assert.equal(await next, ':\n\n')
  await stream.end()
})

test('a client with a number from before a reset gets the event again', async (t) => {
  const { read, write } = aJournal(t)
  write(1)
  const stream = read({ after: 40 })
  await stream.next()
  assert.equal(await stream.next(), 'event: anew\ndata: {"last":1}\n\n')
  assert.deepEqual(ids(await stream.next()), [1])
  await stream.end()
})

test('a stream ends with its journal', async (t) => {
  const { read, journals, folder } = aJournal(t)
  const stream = read()
  await stream.next()
  const next = stream.next()
  await journals.remove(folder)
  assert.equal(await next, 'ended')
})
