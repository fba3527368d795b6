/** Requests by which suites that cover every kind reach layer-2 stretches. */
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { named } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import {
  demoStretch,
  localSide,
  remoteSide,
  stretchBody,
  stretches,
  unstretched,
  vpnBody,
} from '../../support/stretches.ts'
import { ip, made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

async function aStretch(app: TestApp): Promise<string> {
  await unstretched(app)
  return made(app, stretches, stretchBody(named()))
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createLayer2Stretch': { path: stretches, body: (name) => stretchBody(name), prepare: unstretched },
}

const broken = { localSiteParams: localSide({ vpnInterfaceIPAddress: ip('169.254.0.1') }) }

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createLayer2Stretch': {
    path: '/config/layer2-stretches',
    body: stretchBody('by-order', { remoteSiteParams: remoteSide({ stretchSubnetReference: unknown }) }),
    broken,
  },
  'networking.updateLayer2StretchById': {
    path: demoStretch.slice('/networking/v4.3'.length),
    body: stretchBody('by-order', { vni: 5000, metadata: { categoryIds: [unknown] } }),
    broken,
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-layer2-stretch': async (app) => {
    await unstretched(app)
    return { method: 'POST', path: stretches, body: stretchBody('killed') }
  },
  'networking.delete-layer2-stretch': async (app) => deleting(await aStretch(app)),
  // The interface changes, and with it the lease.
  'networking.update-layer2-stretch': async (app) =>
    changing(app, await aStretch(app), {
      mtu: 1300,
      localSiteParams: localSide({ stretchInterfaceIpAddress: ip('192.168.10.3') }),
    }),
}

/** With values that only one body can hold. */
async function vxlanBody(app: TestApp): Promise<object> {
  const { extId } = (await app.store.findOne(DomainManager, { isOwn: true }))!
  const gateway = { defaultGatewayIPAddress: ip('192.168.10.1') }
  return stretchBody(named(), {
    localSiteParams: localSide({ pcClusterReference: extId, ...gateway }),
    remoteSiteParams: remoteSide(gateway),
  })
}
async function throughVpn(app: TestApp): Promise<object> {
  const connection = seedId('vpn-connection/branch-1')
  const { ipsecConfig } = (await app.store.get(VpnConnection, connection))!
  const body: any = vpnBody(named())
  return {
    ...body,
    localSiteParams: { ...body.localSiteParams, vpnInterfaceIPAddress: ipsecConfig.localVtiIp },
    remoteSiteParams: { ...body.remoteSiteParams, vpnInterfaceIPAddress: ipsecConfig.remoteVtiIp },
  }
}
const bodies = [vxlanBody, throughVpn]

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createLayer2Stretch': bodies.map(
    (body): FieldBase =>
      async (app) => {
        await unstretched(app)
        return { path: stretches, body: await body(app) }
      },
  ),
  'networking.updateLayer2StretchById': bodies.map(
    (bodyOf): FieldBase =>
      async (app) => {
        await unstretched(app)
        const body = await bodyOf(app)
        return { path: await made(app, stretches, body), body: { ...body, name: named() } }
      },
  ),
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = Object.fromEntries(
  ['createLayer2Stretch', 'updateLayer2StretchById'].flatMap((operation) => [
    [`networking.${operation} localSiteParams/stretchInterfaceIpAddress`, [ip('192.168.10.6'), ip('192.168.10.7')]],
    [`networking.${operation} remoteSiteParams/stretchInterfaceIpAddress`, [ip('192.168.10.8'), ip('192.168.10.9')]],
  ]),
)

const ownedByStretches: FactOwner = ({ ids }) => ids('Layer2Stretch')
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.stretch': ownedByStretches,
  'fabric.stretch-path': ownedByStretches,
}

export const walkEntities = { [stretches]: ['layer2-stretch/web-stretch'] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createStretch: (asking) => walk.post(stretches, stretchBody(walk.name(asking, 'stretch'))),
  changeStretch: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, stretches), {
      mtu: 1300 + asking.draw.below(3),
      localSiteParams: localSide({ stretchInterfaceIpAddress: ip(asking.draw.of(['192.168.10.3', '192.168.10.6'])) }),
    }),
  deleteStretch: walk.removing(stretches),
}
