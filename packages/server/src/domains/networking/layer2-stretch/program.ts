/** The stretch that gateways configure. Source: behaviour networking.md 1.12, 1.22. */

import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { textOf } from '../../../core/ip-address.ts'
import type { StretchProgram } from '../../../drivers/stretching.ts'
import type { Reader } from '../../../store/store.ts'
import type { StepContext } from '../../context.ts'
import { type GatewayEntity, remoteOf } from '../gateway/entity.ts'
import type { StretchEntity } from './entity.ts'

/** @param changed its remote gateway as a running update configures it */
export async function stretchProgram(
  store: Reader,
  stretch: StretchEntity,
  changed?: GatewayEntity,
): Promise<StretchProgram> {
  const { extId, localSiteParams, mtu = 0, remoteSiteParams } = stretch
  return {
    extId,
    subnetExtId: localSiteParams.stretchSubnetReference,
    interfaceAddress: textOf(localSiteParams.stretchInterfaceIpAddress) as string,
    mtu,
    remote: {
      siteExtId: remoteSiteParams.pcClusterReference as string,
      subnetExtId: remoteSiteParams.stretchSubnetReference,
    },
    tunnel: await tunnelOf(store, stretch, changed),
  }
}

async function tunnelOf(
  store: Reader,
  stretch: StretchEntity,
  changed?: GatewayEntity,
): Promise<StretchProgram['tunnel']> {
  const { gatewayExtId = '', localSiteParams, remoteGatewayExtId, remoteVteps = [], vni = 0 } = stretch
  if (stretch.vpnConnectionExtId !== undefined) return { type: 'VPN', connectionExtId: stretch.vpnConnectionExtId }
  const remote = changed?.extId === remoteGatewayExtId ? changed : await store.get(Gateway, remoteGatewayExtId ?? '')
  return {
    type: 'VXLAN',
    vni,
    gatewayExtId,
    isHighlyAvailable: localSiteParams.highAvailabilityGroup?.isHaEnabled !== false,
    vteps: remote === undefined ? remoteVteps : vtepsOf(remote as GatewayEntity),
  }
}

const vtepsOf = (gateway: GatewayEntity): readonly string[] =>
  (remoteOf(gateway)?.remoteVtepService?.vteps ?? []).flatMap(({ address }) => textOf(address) ?? [])

/** For an update of a remote gateway. Stretches in creation program themselves: their task waits for its task. */
export async function programStretchesOf({ drivers, store }: StepContext, gateway: GatewayEntity): Promise<void> {
  for (const stretch of await store.find(Layer2Stretch, { refersTo: { kind: Gateway.kind, extId: gateway.extId } }))
    if (stretch.change?.verb !== 'create' && stretch.remoteGatewayExtId === gateway.extId)
      await drivers.networkFabric.programStretch(await stretchProgram(store, stretch, gateway))
}
