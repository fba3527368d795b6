/** Sends the smallest body of every operation that makes an entity with a task. */

import { randomUUID } from 'node:crypto'
import { contract } from '@hyperplane/contract'
import { creations, fileOf } from '../kinds/collected.ts'
import type { Creation } from '../kinds/kind.ts'
import type { CallResult, TestApp } from './start-app.ts'

export { creations } from '../kinds/collected.ts'
export { nativeCluster } from '../kinds/kind.ts'

/** Sends one of each that this world has room for; an operation of the contract without a body fails here. */
export function asyncCreations(
  app: TestApp,
  seed: 'demo' | 'empty' = 'demo',
): readonly (readonly [operation: string, send: () => Promise<CallResult>])[] {
  const operations = contract
    .flatMap((namespace) => namespace.operations)
    .filter(({ verb, runs }) => verb === 'create' && runs === 'async')
  return operations.flatMap((operation) => {
    const { key } = operation
    const creation = creations[key]
    if (creation === undefined)
      throw new Error(`expected a smallest body for ${key}: export it as "creations" from ${fileOf(operation)}`)
    return (creation.seed ?? 'demo') === seed ? [[key, () => create(app, creation)] as const] : []
  })
}

export async function create(
  app: TestApp,
  { path, body, clusterId, tagOf, prepare }: Creation,
  name = `made-${randomUUID().slice(0, 8)}`,
): Promise<CallResult> {
  await prepare?.(app)
  const etag = tagOf === undefined ? undefined : (await app.call('GET', tagOf)).etag
  return app.call('POST', path, {
    body: body(name),
    requestId: randomUUID(),
    ...(clusterId === undefined ? {} : { clusterId }),
    ...(etag === undefined ? {} : { ifMatch: etag }),
  })
}
