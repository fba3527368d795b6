/** What requests of several kinds are made of. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ipConfigOf } from '../../support/subnets.ts'
import { GiB } from '../../support/volumes.ts'
import type { Asked } from '../asked.ts'
import type { Draw } from './draw.ts'
import { collections, type Model } from './model.ts'

export interface Asking {
  readonly model: Model
  readonly draw: Draw
  /** Of what is at a path: as it is now, or what somebody read before. Undefined: there is nothing. */
  readonly read: (path: string) => Promise<{ readonly data: any; readonly etag?: string } | undefined>
}

export type Builder = (asking: Asking) => Promise<Asked | undefined> | Asked | undefined

const { categories, containers, images, subnets, vms, vpcs } = collections

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
async function tagged(asking: Asking, method: string, path: string, body?: unknown, of = path): Promise<Asked> {
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

const nicOn = (subnet: string, more: object = {}): object => ({ networkInfo: { subnet: { extId: subnet }, ...more } })

export function vmBody(asking: Asking): object {
  const { model, draw } = asking
  const source = {
    reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: model.extId(draw, images) },
  }
  const disk = (): object =>
    draw.isOneIn(3)
      ? { backingInfo: { dataSource: source } }
      : { backingInfo: { diskSizeBytes: GiB, storageContainer: { extId: model.extId(draw, containers) } } }
  return {
    name: name(asking, 'vm'),
    memorySizeBytes: GiB * draw.of([1, 2, 64]),
    cluster: { extId: nativeCluster },
    nics: draw.some([0, 1, 2], 2).map(() => nicOn(model.extId(draw, subnets))),
    disks: draw.some([0, 1, 2], 2).map(disk),
    categories: draw.isOneIn(2) ? refer(model.extId(draw, categories)) : [],
  }
}

export const subnetBody = (asking: Asking): object => {
  const { model, draw } = asking
  const overlay = { subnetType: 'OVERLAY', vpcReference: model.extId(draw, vpcs) }
  const network = draw.below(8)
  return {
    name: name(asking, 'subnet'),
    ...(draw.isOneIn(4)
      ? overlay
      : { subnetType: 'VLAN', networkId: 3000 + draw.below(200), clusterReference: nativeCluster }),
    // Few addresses, so that they run out.
    ipConfig: ipConfigOf({
      ipv4: `10.9${network}.0.0/24`,
      pools: [[`10.9${network}.0.10`, `10.9${network}.0.1${draw.of([3, 9])}`]],
    }),
  }
}

export const everything = { '*': { '*': { eq: '*' } } }
export const element = (data: object): object => ({ data })

export const iqn = ({ draw }: Asking): object => ({ iscsiInitiatorName: `iqn.2026-03.example:walk-${draw.below(3)}` })
export const nqn = ({ draw }: Asking): object => ({ nvmfInitiatorName: `nqn.2026-03.example:walk-${draw.below(3)}` })
export const someCategory = ({ model, draw }: Asking): object => ({ categories: refer(model.extId(draw, categories)) })
export const someVm = ({ model, draw }: Asking): object => ({ extId: model.extId(draw, vms) })
