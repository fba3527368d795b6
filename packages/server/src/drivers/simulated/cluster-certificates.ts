/**
 * Certificates of simulated clusters: `hardware.certificates` by cluster. Keys are not kept: no connection needs them. A cluster makes its
 * certificate at the first read, because RSA keys would delay the start of a world.
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import { makeSelfSignedServer } from '../../core/x509.ts'
import type { CertificateSubject, ClusterCertificates } from '../cluster-certificates.ts'
import type { RequireAnswer } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

/** PEM, issuers included. */
export interface CertificateFact {
  readonly shown?: string
  readonly staged?: string
  /** The last switch, and the certificate that it replaced. */
  readonly switched?: { readonly key: string; readonly before?: string }
}

export function createClusterCertificates(world: SimulatedWorld, requireAnswer: RequireAnswer): ClusterCertificates {
  const facts = world.collection<CertificateFact>('hardware.certificates')
  const making = new Map<string, Promise<string>>()

  async function makeFirst({ clusterExtId, name, names }: CertificateSubject): Promise<string> {
    const { certificate } = await makeSelfSignedServer(name, names, world.clock.now())
    const fact = facts.get(clusterExtId)
    if (fact?.shown !== undefined) return fact.shown
    await facts.put(clusterExtId, { ...fact, shown: certificate })
    return certificate
  }

  return {
    async shownCertificate(subject) {
      const { clusterExtId } = subject
      const shown = facts.get(clusterExtId)?.shown
      if (shown !== undefined) return shown
      let certificate = making.get(clusterExtId)
      if (certificate === undefined) {
        certificate = makeFirst(subject).finally(() => making.delete(clusterExtId))
        making.set(clusterExtId, certificate)
      }
      return certificate
    },

    async stageCertificate(clusterExtId, { certificate, caChain = '' }) {
      requireAnswer(clusterExtId, 'stageCertificate')
      await facts.put(clusterExtId, { ...facts.get(clusterExtId), staged: certificate + caChain })
    },

    async unstageCertificate(clusterExtId) {
      const { staged, ...fact } = facts.get(clusterExtId) ?? {}
      if (staged === undefined) return
      requireAnswer(clusterExtId, 'unstageCertificate')
      await facts.put(clusterExtId, fact)
    },

    async switchCertificate(clusterExtId, callKey) {
      requireAnswer(clusterExtId, 'switchCertificate')
      const { shown, staged, switched } = facts.get(clusterExtId) ?? {}
      if (switched?.key === callKey) return
      if (staged === undefined) throw DriverError.final('no certificate is staged')
      const before = shown === undefined ? {} : { before: shown }
      await facts.put(clusterExtId, { shown: staged, switched: { key: callKey, ...before } })
    },

    async takeBackCertificate(clusterExtId, callKey) {
      const { shown: taken, switched, ...fact } = facts.get(clusterExtId) ?? {}
      if (switched?.key !== callKey) return
      requireAnswer(clusterExtId, 'takeBackCertificate')
      const { before } = switched
      await facts.put(clusterExtId, { ...fact, ...(before === undefined ? {} : { shown: before }) })
    },
  }
}
