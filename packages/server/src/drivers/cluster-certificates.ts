/** The certificate with which a cluster serves TLS. Source: behaviour clustermgmt.md 1.15. */

export interface CertificatePair {
  readonly certificate: string
  readonly privateKey: string
  readonly caChain?: string
}

export interface CertificateSubject {
  readonly clusterExtId: string
  readonly name: string
  /** Host names and addresses under which clients reach the cluster. */
  readonly names: readonly string[]
}

/** Errors as of `Hardware`. */
export interface ClusterCertificates {
  /** PEM: the certificate, then its issuers. A cluster that has none signs one for `subject`. */
  shownCertificate(subject: CertificateSubject): Promise<string>
  /** Replaces a pair that was staged before. New connections still get the previous pair. */
  stageCertificate(clusterExtId: string, pair: CertificatePair): Promise<void>
  /** Resolves also when nothing is staged. */
  unstageCertificate(clusterExtId: string): Promise<void>
  /** New connections get the staged pair. Repeated calls with the same `callKey` switch once. */
  switchCertificate(clusterExtId: string, callKey: string): Promise<void>
  /** New connections get the previous pair again; resolves at once if the call never took effect. */
  takeBackCertificate(clusterExtId: string, callKey: string): Promise<void>
}
