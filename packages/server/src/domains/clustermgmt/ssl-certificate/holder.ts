/** A cluster serves its certificate itself; this process serves that of the manager's cluster. */
import { X509Certificate } from 'node:crypto'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { SSLCertificate } from '@hyperplane/contract/clustermgmt/ssl-certificate'
import type { pino } from 'pino'
import type { ServiceTls } from '../../../core/ports.ts'
import type { SecretReader, Services, World } from '../../../core/world.ts'
import type { CertificatePair, CertificateSubject } from '../../../drivers/cluster-certificates.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import { isManager } from '../../containers/storage-containers.ts'
import { algorithmOf } from './replacement.ts'

/** undefined: the cluster serves by itself. */
export const serviceTlsOf = (ctx: { readonly services: Services }, cluster: Cluster): ServiceTls | undefined =>
  isManager(cluster) ? ctx.services.serviceTls : undefined

export function subjectOf({ extId, name, network }: Cluster): CertificateSubject {
  const { fqdn, externalAddress: address } = network ?? {}
  const names = [fqdn, address?.ipv4?.value, address?.ipv6?.value].filter((one) => one !== undefined)
  return { clusterExtId: extId, name, names }
}

/** PEM, with issuers. */
export const shownCertificate = (
  ctx: { readonly services: Services; readonly drivers: Drivers },
  cluster: Cluster,
): Promise<string> =>
  serviceTlsOf(ctx, cluster)?.shownCertificate() ?? ctx.drivers.hardware.shownCertificate(subjectOf(cluster))

/** The certificate as clients of the API see it. */
export function shownFields(
  pem: string,
): Pick<SSLCertificate, 'publicCertificate' | 'caChain' | 'privateKeyAlgorithm'> {
  const [leaf = '', ...issuers] = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? []
  return {
    publicCertificate: leaf,
    ...(issuers.length === 0 ? {} : { caChain: issuers.join('') }),
    // A configured key may have an algorithm that the interface has no name for.
    privateKeyAlgorithm: algorithmOf(new X509Certificate(leaf).publicKey) as SSLCertificate['privateKeyAlgorithm'],
  }
}

/** undefined: none was chosen, or its key stayed behind when the world was exported. */
export function storedPair(secrets: SecretReader, row: SSLCertificate | undefined): CertificatePair | undefined {
  if (row?.publicCertificate === undefined) return undefined
  const privateKey = secrets.open('SSLCertificate', row.extId, 'privateKey', row.privateKey)
  if (privateKey === undefined) return undefined
  return {
    certificate: row.publicCertificate,
    privateKey,
    ...(row.caChain === undefined ? {} : { caChain: row.caChain }),
  }
}

export function useOnService(tls: ServiceTls, pair: CertificatePair | undefined): void {
  tls.use(pair && { cert: pair.certificate + (pair.caChain ?? ''), key: pair.privateKey })
}

/** At the start: the certificate that a request chose for the manager before this process began. */
export async function useStoredCertificate({
  services,
  secrets,
  store,
  log,
}: Pick<World<Drivers>, 'services' | 'secrets'> & {
  readonly store: Reader
  readonly log: pino.Logger
}): Promise<void> {
  const { serviceTls } = services
  if (serviceTls === undefined || serviceTls.isConfigured) return
  try {
    const managers = (await store.find(Cluster)).filter(isManager)
    const row = managers[0] && (await store.get(SSLCertificate, managers[0].extId))
    useOnService(serviceTls, storedPair(secrets, row))
  } catch (error) {
    const message = 'the stored certificate of the service cannot be used: clients get that of the data folder'
    log.error({ err: error }, message)
  }
}
