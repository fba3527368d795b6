/** Every mutation of the control interface takes effect once per request id, and only with a current tag. Source: conventions 5, 6. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { controlRequests, operations, subject } from '../support/control-requests.ts'
import { facts } from '../support/every-operation.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

let app: TestApp
let url: string
let requests: ReturnType<typeof controlRequests>
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  await aWorld(app, subject)
  requests = controlRequests(app, url)
})
after(() => app.close())

test('every mutation replays its first answer to a repeated request id, and refuses the id for another request', async () => {
  for (const operation of operations.filter(({ mutates }) => mutates)) {
    const request = await requests.aRequest(operation)
    const requestId = randomUUID()
    const first = await requests.send(request, { requestId })
    assert.equal(first.status, operation.status, `${operation.key}: ${facts(first)}`)
    assert.equal(first.replayed, undefined, operation.key)
    const again = await requests.send(request, { requestId })
    assert.deepEqual(
      again,
      { ...first, replayed: true, warnings: again.warnings, headers: again.headers },
      operation.key,
    )
    // Operations on worlds and on this world have separate stores of answers.
    const [path, body] =
      operation.stem === 'world'
        ? [worlds, requests.newWorld()]
        : [`${worlds}/${request.world}/clock/$actions/advance`, { duration: 'PT7M' }]
    const other = await app.call('POST', path, { body, requestId })
    assert.deepEqual([other.status, other.errors[0]?.code], [422, 'PLAT-10020'], `${operation.key}: ${facts(other)}`)
  }
})

test('every mutation that requires a tag is 428 without one, 412 with another, and succeeds with the right one', async () => {
  const demanding = operations.filter(({ ifMatch }) => ifMatch === 'required')
  assert.deepEqual(
    demanding.map(({ id }) => id).sort(),
    operations
      .filter(({ verb }) => verb === 'update')
      .map(({ id }) => id)
      .sort(),
  )
  for (const operation of demanding) {
    const request = await requests.aRequest(operation)
    const verdict = async (ifMatch: string): Promise<string> => {
      const { status, errors } = await requests.send(request, { ifMatch })
      return `${status} ${errors[0]?.code ?? ''}`.trim()
    }
    const tag = request.ifMatch as string
    assert.deepEqual(
      [await verdict(''), await verdict('"of-another"'), await verdict('*'), await verdict(`W/${tag}`)],
      ['428 PLAT-10004', '412 PLAT-10005', '412 PLAT-10005', '412 PLAT-10005'],
      operation.key,
    )
    assert.deepEqual([await verdict(tag), await verdict(tag)], ['200', '412 PLAT-10005'], operation.key)
  }
})

test('every other mutation of a tagged entity compares a tag that is sent', async () => {
  const tagged = operations.filter(
    ({ mutates, ifMatch, target, pathKinds, resource }) =>
      mutates &&
      ifMatch === 'optional' &&
      target !== undefined &&
      pathKinds[target] === resource?.kind &&
      resource?.derived !== true,
  )
  assert.ok(tagged.length >= 5)
  for (const operation of tagged) {
    const result = await requests.send(await requests.aRequest(operation), { ifMatch: '"of-another"' })
    assert.deepEqual([result.status, result.errors[0]?.code], [412, 'PLAT-10005'], `${operation.key}: ${facts(result)}`)
  }
})
