/** Judges client certificates at every request; slow parts are cached. Source: behaviour iam.md 5. */

import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import type { Ids } from '../../../core/caller.ts'
import { createLru } from '../../../core/lru.ts'
import type { ClientCertificate, ClientCertificates } from '../../../core/ports.ts'
import type { Clock } from '../../../core/time/clock.ts'
import { type Web, WebError } from '../../../drivers/web.ts'
import type { Store } from '../../../store/store.ts'
import { StoredRevocationList } from '../records.ts'
import { readStoredChain } from './ca-chain.ts'
import {
  authorityOf,
  type Certificate,
  clientAuthentication,
  fingerprintOf,
  isForClients,
  readCertificate,
} from './certificate.ts'
import { maximumAnswerBytes, ocspFault, ocspMediaType, ocspQuestion } from './ocsp.ts'
import { issuersOf } from './path.ts'
import { isRevoked, listFault, type RevocationList, readRevocationList } from './revocation-list.ts'

export type ProviderRow = CertAuthProvider

export interface Trusted {
  readonly provider: ProviderRow
  readonly certificate: Certificate
}

export interface CertificateTrust extends ClientCertificates {
  /** @returns undefined for an untrusted certificate; the reason is not disclosed */
  judge(shown: ClientCertificate): Promise<Trusted | undefined>
  /** PEM of the authorities that TLS requests client certificates for; empty: none are requested. */
  authorities(): Promise<readonly string[]>
  /** Rises with every change of a provider or list; older results must not be used. */
  readonly generation: number
  onChange(listener: () => void): void
}

interface Provider {
  readonly row: ProviderRow
  readonly chain: readonly Certificate[]
  readonly lists: readonly SignedList[]
}

interface SignedList extends RevocationList {
  /** Verified once, when the list is loaded: it may be large. */
  readonly authorities: ReadonlySet<string>
}

/** Without the response of the OCSP responder. */
interface Finding extends Trusted {
  readonly issuers: readonly [Certificate, ...Certificate[]]
  readonly between: readonly Certificate[]
  readonly until: number
}

const maximumCached = 10_000
const maximumPresented = 10
const responderMilliseconds = 3000
const nonceBytes = 16

interface TrustOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Pick<Ids, 'secretBytes'>
  readonly web: Web
}

export const createCertificateTrust = (options: TrustOptions): CertificateTrust => new ProviderTrust(options)

class ProviderTrust implements CertificateTrust {
  readonly #store: Store
  readonly #clock: Clock
  readonly #ids: Pick<Ids, 'secretBytes'>
  readonly #web: Web
  readonly #findings = createLru<Finding>(maximumCached)
  /** By fingerprint, issuers presented on its path: a resumed TLS connection does not send them again. */
  readonly #companions = createLru<readonly Certificate[]>(1000)
  /** Running OCSP requests, shared by concurrent requests for one certificate. Results are not cached. */
  readonly #questions = new Map<string, Promise<boolean>>()
  readonly #listeners: (() => void)[] = []
  #providers: Promise<readonly Provider[]> | undefined
  #generation = 0

  constructor({ store, clock, ids, web }: TrustOptions) {
    this.#store = store
    this.#clock = clock
    this.#ids = ids
    this.#web = web
  }

  async judge(presented: ClientCertificate): Promise<Trusted | undefined> {
    const finding = await this.#find(presented, fingerprintOf(presented.raw))
    if (finding === undefined) return undefined
    const usesOcsp = finding.provider.certRevocationInfo?.isOcspEnabled === true
    return usesOcsp && !(await this.#haveGoodStatus(finding)) ? undefined : finding
  }

  async authorities(): Promise<readonly string[]> {
    for (;;) {
      const generationAtStart = this.#generation
      const all = await this.#enabled()
      // The rows may have been read before the change.
      if (generationAtStart === this.#generation)
        return all.flatMap(({ chain }) => chain.map(({ x509 }) => x509.toString()))
    }
  }

  get generation(): number {
    return this.#generation
  }

  changed(): void {
    this.#generation += 1
    this.#providers = undefined
    this.#findings.clear()
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async #load(): Promise<readonly Provider[]> {
    const rows = (await this.#store.find(CertAuthProvider)).filter(({ isCertAuthEnabled }) => isCertAuthEnabled)
    return Promise.all(
      rows.map(async (row) => {
        const chain = await readStoredChain(row.clientCaChain)
        const stored = await this.#store.findWhere(StoredRevocationList, { providerExtId: row.extId })
        const lists = stored.map(({ content }) => {
          const list = readRevocationList(Buffer.from(content, 'base64'))
          const own = chain.filter((authority) => listFault(list, authority) === undefined)
          return { ...list, authorities: new Set(own.map(authorityOf)) }
        })
        return { row, chain, lists }
      }),
    )
  }

  #enabled(): Promise<readonly Provider[]> {
    this.#providers ??= this.#load().catch((error) => {
      this.#providers = undefined
      throw error
    })
    return this.#providers
  }

  async #find(sent: ClientCertificate, fingerprint: string): Promise<Finding | undefined> {
    const cached = this.#findings.get(fingerprint)
    if (cached !== undefined && this.#clock.now() < cached.until && cached.certificate.notBefore <= this.#clock.now())
      return cached
    const generationAtStart = this.#generation
    const all = await this.#enabled()
    if (all.length === 0) return undefined
    const certificate = await parsed(sent.raw)
    if (certificate === undefined) return undefined
    const presented = await this.#presentedWith(sent, certificate)
    for (const provider of all) {
      const finding = this.#judgeBy(provider, certificate, presented)
      if (finding === undefined) continue
      if (generationAtStart === this.#generation) this.#findings.set(fingerprint, finding)
      return finding
    }
    return undefined
  }

  async #presentedWith(presented: ClientCertificate, { fingerprint }: Certificate): Promise<readonly Certificate[]> {
    const fresh = presented.presented.slice(0, maximumPresented)
    if (fresh.length === 0) return this.#companions.get(fingerprint) ?? []
    return (await Promise.all(fresh.map(parsed))).filter((each) => each !== undefined)
  }

  #judgeBy(
    { row, chain, lists }: Provider,
    certificate: Certificate,
    presented: readonly Certificate[],
  ): Finding | undefined {
    const now = this.#clock.now()
    const [issuer, ...others] = issuersOf(certificate, presented, chain, now) ?? []
    if (issuer === undefined || !maySignIn(certificate, row)) return undefined
    const between = [issuer, ...others].filter((one) => !isIn(chain, one))
    // Only for certificates with a path: unknown clients must not evict the entries of others.
    this.#companions.set(certificate.fingerprint, between)
    const issuers = [issuer, ...others] as const
    const ends = [certificate, ...issuers].map(({ notAfter }) => notAfter)
    if (row.certRevocationInfo?.isCrlEnabled === true) {
      for (const [index, subject] of [certificate, ...issuers.slice(0, -1)].entries()) {
        const authority = issuers[index] as Certificate
        const current = lists.filter((list) => list.nextUpdate > now && list.authorities.has(authorityOf(authority)))
        // Uploaded authorities are trusted without a list; every other certificate must be covered by a current one.
        const isVouchedFor = index > 0 && isIn(chain, subject)
        if (current.length === 0 && !isVouchedFor) return undefined
        if (current.some((list) => isRevoked(list, subject.serial))) return undefined
        ends.push(...current.map(({ nextUpdate }) => nextUpdate))
      }
    }
    return { provider: row, certificate, issuers, between, until: Math.min(...ends) }
  }

  /** OCSP covers the client certificate, and the presented issuers if revocation lists do not cover them. */
  async #haveGoodStatus({ provider, certificate, issuers, between }: Finding): Promise<boolean> {
    const subjects = provider.certRevocationInfo?.isCrlEnabled === true ? [certificate] : [certificate, ...between]
    const answers = subjects.map((subject) => {
      const [issuer] = subject === certificate ? issuers : issuers.slice(issuers.indexOf(subject) + 1)
      return issuer !== undefined && this.#hasGoodStatus(provider, subject, issuer)
    })
    return (await Promise.all(answers)).every((isGood) => isGood)
  }

  #hasGoodStatus(provider: ProviderRow, certificate: Certificate, issuer: Certificate): Promise<boolean> {
    const key = `${this.#generation} ${certificate.fingerprint}`
    const running = this.#questions.get(key)
    if (running !== undefined) return running
    const query = this.#ask(provider, certificate, issuer).finally(() => this.#questions.delete(key))
    this.#questions.set(key, query)
    return query
  }

  async #ask(provider: ProviderRow, certificate: Certificate, issuer: Certificate): Promise<boolean> {
    const url = provider.certRevocationInfo?.ocspResponder ?? certificate.ocspUrl
    if (url === undefined || !/^https?:/.test(url) || !URL.canParse(url)) return false
    try {
      const question = await ocspQuestion(certificate, issuer, this.#ids.secretBytes(nonceBytes))
      const answer = await this.#web.fetch({
        url,
        question: { contentType: ocspMediaType, content: question.content },
        maximumBytes: maximumAnswerBytes,
        timeoutMilliseconds: responderMilliseconds,
      })
      return (await ocspFault(answer, question, certificate, issuer, this.#clock.now())) === undefined
    } catch (error) {
      if (error instanceof WebError) return false
      throw error
    }
  }
}

/** Smart-card providers also require a declared client purpose and a user principal name. */
function maySignIn(certificate: Certificate, { isCacEnabled }: ProviderRow): boolean {
  if (!isForClients(certificate) || !certificate.signsMessages) return false
  const { purposes = [], userPrincipalNames } = certificate
  return !isCacEnabled || (purposes.includes(clientAuthentication) && userPrincipalNames.length > 0)
}

const isIn = (chain: readonly Certificate[], { fingerprint }: Certificate): boolean =>
  chain.some((one) => one.fingerprint === fingerprint)

async function parsed(raw: Uint8Array): Promise<Certificate | undefined> {
  try {
    return await readCertificate(raw)
  } catch {
    return undefined
  }
}
