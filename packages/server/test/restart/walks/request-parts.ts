/** Parts of the requests that files of kinds export for random walks. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Asked } from '../asked.ts'
import type { Draw } from './draw.ts'
import { collections, lastOf, type Model } from './model.ts'

export interface Asking {
  readonly model: Model
  readonly draw: Draw
  /** Of what is at a path: as it is now, or what somebody read before. Undefined: there is nothing. */
  readonly read: (path: string) => Promise<{ readonly data: any; readonly etag?: string } | undefined>
}

export type Builder = (asking: Asking) => Promise<Asked | undefined> | Asked | undefined

export { collections, lastOf }

/** Password of users that random walks create. No file of the service may contain it in plain text. */
export const walkersPassword = 'A.Walkers-Passw0rd'

export const nativeCluster = seedId('cluster/hp-native-01')
export const refer = (...extIds: string[]): object[] => extIds.map((extId) => ({ extId }))
export const post = (path: string, body?: unknown): Asked => ({
  method: 'POST',
  path,
  ...(body === undefined ? {} : { body }),
})
export const name = ({ model, draw }: Asking, word: string): string =>
  // Some are taken.
  draw.isOneIn(5) ? `${word}-again` : `${word}-${model.number()}`

/** With the tag of what the path names, where it has one. */
export async function tagged(asking: Asking, method: string, path: string, body?: unknown, of = path): Promise<Asked> {
  const etag = (await asking.read(of))?.etag
  return { method, path, ...(etag === undefined ? {} : { ifMatch: etag }), ...(body === undefined ? {} : { body }) }
}
/** As it was read, with changes. */
export async function put(
  asking: Asking,
  path: string,
  changes: object,
  shown: readonly string[] = [],
): Promise<Asked> {
  const found = await asking.read(path)
  // Some kinds take back what they show, of others a client names what it means.
  const body =
    shown.length === 0 ? found?.data : Object.fromEntries(shown.map((field) => [field, found?.data?.[field]]))
  return {
    method: 'PUT',
    path,
    body: { ...body, ...changes },
    ...(found?.etag === undefined ? {} : { ifMatch: found.etag }),
  }
}
export const removing =
  (collection: string): Builder =>
  (asking) =>
    tagged(asking, 'DELETE', asking.model.path(asking.draw, collection))
export const acting =
  (collection: string, action: string, body?: (asking: Asking) => object): Builder =>
  (asking) => {
    const path = asking.model.path(asking.draw, collection)
    return tagged(asking, 'POST', `${path}/$actions/${action}`, body?.(asking), path)
  }

/** A new part of a VM, whose tag it needs. */
export const adding =
  (called: string, body: (asking: Asking) => object): Builder =>
  (asking) => {
    const vm = asking.model.path(asking.draw, collections.vms)
    return tagged(asking, 'POST', `${vm}/${called}`, body(asking), vm)
  }
export const removingPart =
  (called: string): Builder =>
  (asking) => {
    const path = asking.model.part(asking.draw, called)
    return path === undefined ? undefined : tagged(asking, 'DELETE', path)
  }

export const someCategory = ({ model, draw }: Asking): object => ({
  categories: refer(model.extId(draw, collections.categories)),
})
