/** Every change that the control interface makes: once for each request id, and of what the caller has seen. Source: conventions 5, 6. */
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

test('every change answers a repeated request id as it answered first, and refuses it for another request', async () => {
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
    // What is asked of worlds, and what is asked of this one, are remembered apart.
    const [path, body] =
      operation.stem === 'world'
        ? [worlds, requests.newWorld()]
        : [`${worlds}/${request.world}/clock/$actions/advance`, { duration: 'PT7M' }]
    const other = await app.call('POST', path, { body, requestId })
    assert.deepEqual([other.status, other.errors[0]?.code], [422, 'PLAT-10020'], `${operation.key}: ${facts(other)}`)
  }
})

test('every change that demands a tag is 428 without one, 412 with another, and done with the right one', async () => {
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

test('every other change of something with a tag compares one that is given', async () => {
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
