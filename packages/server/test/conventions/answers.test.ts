/** Answers beside their data: links, selections, truncation, HEAD. Source: behaviour conventions 2.3, 4, 9, 10.2. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { seedId } from '../../src/core/ids/named-id.ts'
import { hostId, ids } from '../support/clustermgmt.ts'
import { http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const categories = '/api/platform/v4.3/config/categories'
const lists = contract
  .flatMap((namespace) => namespace.operations)
  .filter(
    ({ verb, paged, path, query }) =>
      verb === 'list' && paged && !path.includes('{') && Object.keys(query).length === 0,
  )
const pathOf = ({ namespace, versions, path }: (typeof lists)[number]): string =>
  `/api/${namespace}/${versions[0]}${path}`
const hrefs = (answer: any): Record<string, string> =>
  Object.fromEntries(answer.json.metadata.links.map(({ rel, href }: any) => [rel, href]))

test('a page beyond the end of any list is 200, empty, with the right total', async () => {
  assert.ok(lists.length > 20)
  for (const operation of lists) {
    // The alpha conventions return the last page instead.
    if (operation.namespace === 'storage') continue
    const clusterId: Record<string, string> = operation.clusterId === undefined ? {} : { 'X-Cluster-Id': ids.cloud }
    const all = await http(url, `${pathOf(operation)}?$limit=1`, { headers: clusterId })
    assert.equal(all.status, 200, `${operation.key}: ${all.text}`)
    const beyond = await http(url, `${pathOf(operation)}?$page=1000000`, { headers: clusterId })
    assert.deepEqual(
      [beyond.status, beyond.json.data, beyond.json.metadata.totalAvailableResults],
      [200, [], all.json.metadata.totalAvailableResults],
      operation.key,
    )
  }
})

test('HEAD answers as GET does, without a body', async () => {
  for (const path of [
    ...lists.filter(({ clusterId }) => clusterId === undefined).map(pathOf),
    '/api/nowhere',
    `${categories}/${randomUUID()}`,
  ]) {
    const [get, head] = [await http(url, path), await http(url, path, { method: 'HEAD' })]
    assert.deepEqual([head.status, head.text, head.headers['etag']], [get.status, '', get.headers['etag']], path)
    assert.equal(head.headers['content-type'], get.headers['content-type'], path)
  }
  const [one] = (await http(url, `${categories}?$limit=1`)).json.data
  const head = await http(url, `${categories}/${one.extId}`, { method: 'HEAD' })
  assert.equal(head.headers['etag'], (await http(url, `${categories}/${one.extId}`)).headers['etag'])
})

test('links of a list lead to the first, last, next and previous page with every option; there is none beyond the ends', async () => {
  const filter = encodeURIComponent("value ne 'x'")
  const page = (number: number) => http(url, `${categories}?$filter=${filter}&$orderby=value&$page=${number}&$limit=5`)
  const first = await page(0)
  const last = Math.ceil(first.json.metadata.totalAvailableResults / 5) - 1
  assert.deepEqual(Object.keys(hrefs(first)).sort(), ['first', 'last', 'next', 'self'])
  assert.deepEqual(Object.keys(hrefs(await page(1))).sort(), ['first', 'last', 'next', 'prev', 'self'])
  assert.deepEqual(Object.keys(hrefs(await page(last))).sort(), ['first', 'last', 'prev', 'self'])
  const seen: string[] = []
  let at: string | undefined = hrefs(first)['self']
  while (at !== undefined) {
    assert.ok(at.startsWith(`${url}${categories}?`) || at.includes(categories), at)
    assert.ok(at.includes('$filter=') && at.includes('$orderby=value'), at)
    const answer = await http(url, at.slice(at.indexOf('/api/')))
    seen.push(...answer.json.data.map(({ value }: any) => value))
    at = hrefs(answer)['next']
  }
  assert.equal(seen.length, first.json.metadata.totalAvailableResults)
  assert.deepEqual(seen, [...seen].sort())
})

test('a selection answers the selected fields, the id and the type, and links only when it names them', async () => {
  const select = async (fields: string): Promise<string[]> =>
    Object.keys((await http(url, `${categories}?$limit=1&$select=${fields}`)).json.data[0]).sort()
  assert.deepEqual(await select('key'), ['$objectType', 'extId', 'key'])
  assert.ok((await select('*')).includes('links'))
  const subnets = '/api/networking/v4.3/config/subnets?$limit=1&$select='
  const keys = async (fields: string): Promise<string[]> =>
    Object.keys((await http(url, `${subnets}${fields}`)).json.data[0]).sort()
  assert.deepEqual(await keys('name'), ['$objectType', 'extId', 'name'])
  assert.deepEqual(await keys('name,%20links'), ['$objectType', 'extId', 'links', 'name'])
})

test('the self link of statistics, and of a thing below a manager, leads to the same answer', async () => {
  const end = app.clock.now()
  const span = `$startTime=${new Date(end - 60_000).toISOString()}&$endTime=${new Date(end).toISOString()}`
  const manager = seedId('manager/dr-site')
  const remote = `/api/networking/v4.3/config/clusters/${manager}`
  const firstOf = async (list: string): Promise<string> => `${list}/${(await http(url, list)).json.data[0].extId}`
  for (const path of [
    `/api/clustermgmt/v4.2/stats/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}?${span}`,
    `/api/clustermgmt/v4.2/config/clusters/${ids.native}/snmp`,
    `/api/storage/v4.0.a3/config/volume-groups/${(await http(url, '/api/volumes/v4.2/config/volume-groups')).json.data[0].extId}`,
    await firstOf(`${remote}/remote-subnets`),
    await firstOf(`${remote}/remote-vpn-connections`),
    await firstOf(`${remote}/remote-vtep-gateways`),
  ]) {
    const { status, json } = await http(url, path)
    assert.equal(status, 200, path)
    const [self] = json.data.links ?? []
    assert.deepEqual([self?.rel, self?.href], ['self', `${url}${path}`])
  }
  const [listed] = (await http(url, `${remote}/remote-subnets`)).json.data
  assert.deepEqual((await http(url, listed.links[0].href.slice(url.length))).json.data, listed)
})

test('a list reports truncated collections, and the items that hold them', async () => {
  const key = `cut-${randomUUID().slice(0, 8)}`
  const made: string[] = []
  for (const value of ['whole', 'cut'])
    made.push((await http(url, categories, { method: 'POST', body: JSON.stringify({ key, value }) })).json.data.extId)
  await app.store.transaction(async (store) => {
    for (let index = 0; index < 101; index++) {
      const categoryExtIds = index === 0 ? made : [made[1]]
      await store.insert(Image, {
        extId: randomUUID(),
        name: `${key}-${index}`,
        type: 'DISK_IMAGE',
        categoryExtIds,
      } as never)
    }
  })
  const path = `${categories}?$filter=${encodeURIComponent(`key eq '${key}'`)}&$expand=detailedAssociations`
  for (const header of ['SVC-Request-Id', 'NTNX-Request-Id']) {
    const { metadata } = (await http(url, path, { headers: { [header]: randomUUID() } })).json
    assert.equal(metadata.flags.find(({ name }: any) => name === 'isTruncated').value, true)
    const [info] = metadata.extraInfo
    assert.deepEqual([info.name, info.value, info.$objectType], ['truncatedIndexes', [1], 'common.v1.config.KVPair'])
  }
  const whole = (await http(url, `${categories}?$limit=1`)).json.metadata
  assert.equal(whole.extraInfo, undefined)
})

test('a body in another character set than UTF-8 is 415', async () => {
  const post = (type: string) =>
    http(url, categories, {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify({ key: 'charset', value: randomUUID().slice(0, 8) }),
    })
  assert.equal((await post('application/json; charset=latin1')).status, 415)
  assert.equal((await post('application/json;charset="UTF-8"')).status, 201)
})

test('an unknown route is reported in the names of the profile of the client', async () => {
  const headers = { 'NTNX-Request-Id': randomUUID() }
  const missing = (await http(url, '/api/prism/v4.3/nothing', { headers })).json.data.error[0]
  assert.match(missing.message, /"\/api\/prism\/v4\.3\/nothing"\. The namespace prism is served in v4\.3/)
  assert.equal(missing.argumentsMap.path, '/api/prism/v4.3/nothing')
  const version = (await http(url, '/api/nowhere/v1/x', { headers })).json.data.error[0]
  assert.match(version.message, /networking, prism, storage/)
  const method = await http(url, '/api/prism/v4.3/config/categories', { method: 'PATCH', headers })
  assert.match(method.json.data.error[0].message, /"\/api\/prism\/v4\.3\/config\/categories" does not answer PATCH/)
  const spec = (await http(url, '/api/platform/v4.3/nothing')).json.data.error[0]
  assert.match(spec.message, /"\/api\/platform\/v4\.3\/nothing"\. The namespace platform/)
})
