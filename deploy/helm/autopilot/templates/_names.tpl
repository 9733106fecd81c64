{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "autopilot.labels" -}}
app: autopilot
app.kubernetes.io/name: autopilot
app.kubernetes.io/component: agent
{{- end }}

{{- /* The same with labels from the values. The chart's labels take precedence, because selectors use them. */ -}}
{{- define "autopilot.labelsAnd" -}}
{{- merge (include "autopilot.labels" (last .) | fromYaml) (first . | default dict) | toYaml }}
{{- end }}

{{- define "autopilot.image" -}}
{{ .Values.image.repository }}:{{ include "autopilot.text" (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}

{{- /* Restrictions of every container. */ -}}
{{- define "autopilot.noRights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- end }}

{{- define "autopilot.isFull" -}}
{{- if not (has .Values.profile (list "dropin" "full")) -}}
{{- fail (printf "profile: expected dropin or full, not %q" .Values.profile) -}}
{{- end -}}
{{- if eq .Values.profile "full" }}true{{ end -}}
{{- end }}

{{- /* Non-empty if a container reads processes of jobs for the agent. */ -}}
{{- define "autopilot.helpsJobs" -}}
{{- $jobs := .Values.jobs | default dict -}}
{{- if and (include "autopilot.isFull" .) $jobs.enabled $jobs.helper }}true{{ end -}}
{{- end }}

{{- define "autopilot.keepsState" -}}
{{- $kind := (.Values.state).kind | default (ternary "hostPath" "emptyDir" (eq .Values.profile "full")) -}}
{{- if not (has $kind (list "emptyDir" "hostPath")) -}}
{{- fail (printf "state.kind: expected emptyDir or hostPath, not %q" $kind) -}}
{{- end -}}
{{- if eq $kind "hostPath" }}true{{ end -}}
{{- end }}

{{- define "autopilot.asksByMount" -}}
{{- if eq (.Values.driverRequest | default "environment") "volumeMount" }}true{{ end -}}
{{- end }}

{{- /* Non-empty if pods mount folders or files of the node. */ -}}
{{- define "autopilot.mountsNode" -}}
{{- if or (include "autopilot.isFull" .) (include "autopilot.keepsState" .) (include "autopilot.asksByMount" .) }}true{{ end -}}
{{- end }}

{{- /* The prefix becomes part of expressions of the admission policies. */ -}}
{{- define "autopilot.prefix" -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" .Values.labelPrefix) -}}
{{- fail (printf "labelPrefix: expected a DNS name, not %q" .Values.labelPrefix) -}}
{{- end -}}
{{ .Values.labelPrefix }}
{{- end }}

{{- /* Host names allowed in requests to an agent: those of its Services. */ -}}
{{- define "autopilot.hostNames" -}}
{{- range $service := list "autopilot-healthchecks" "autopilot-readinessprobe" "autopilot-metrics-service" }}
{{- range $end := list "" (printf ".%s" $.Release.Namespace) (printf ".%s.svc" $.Release.Namespace) (printf ".%s.svc.cluster.local" $.Release.Namespace) }}
- {{ $service }}{{ $end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "autopilot.pullPolicy" -}}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- /* A number as written in the file: Helm reads it as a float and would print an exponent. */ -}}
{{- define "autopilot.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{- /* Go durations, and bare numbers as hours: "4h" from 4, "0s" from 0. */ -}}
{{- define "autopilot.duration" -}}
{{- $text := include "autopilot.text" .value -}}
{{- if regexMatch "^[0-9]+$" $text -}}
{{- if regexMatch "^0+$" $text }}0s{{ else }}{{ $text }}h{{ end -}}
{{- else if regexMatch "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" $text -}}
{{ $text }}
{{- else -}}
{{- fail (printf "%s: expected a duration such as 4h, 30m or 0, or a number of hours, not %q" .name $text) -}}
{{- end -}}
{{- end }}

{{- /* Value of a variable in `env`, as in values files of IBM Autopilot. */ -}}
{{- define "autopilot.variable" -}}
{{- range .Values.env -}}
{{- if and (eq .name $.name) .value }}{{ include "autopilot.text" .value }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* Interval of diagnostics: 0, or 10 minutes to a year. */ -}}
{{- define "autopilot.period" -}}
{{- $period := include "autopilot.duration" . -}}
{{- $isMinutes := and (regexMatch "^[1-9][0-9]{1,5}m$" $period) (le (int (trimSuffix "m" $period)) 525600) -}}
{{- $isHours := and (regexMatch "^[1-9][0-9]{0,3}h([0-5]?[0-9]m)?$" $period) (le (int (first (splitList "h" $period))) 8760) -}}
{{- if not (or (eq $period "0s") $isMinutes $isHours) -}}
{{- fail (printf "%s: expected 0, or 10m to 8760h, not %q" .name $period) -}}
{{- end -}}
{{ $period }}
{{- end }}

{{- /* "a, b" as a list in JSON. */ -}}
{{- define "autopilot.words" -}}
{{- $words := list -}}
{{- range splitList "," . -}}
{{- $words = append $words (trim .) -}}
{{- end -}}
{{ without $words "" | toJson }}
{{- end }}

{{- /* Empty if this release has no agents. */ -}}
{{- define "autopilot.hasAgent" -}}
{{- if ne (toString (.Values.agent | default dict).enabled) "false" }}yes{{ end -}}
{{- end }}

{{- /* Empty if off, which YAML may parse as false. */ -}}
{{- define "autopilot.tlsMode" -}}
{{- $mode := (.Values.tls | default dict).mode | default "off" -}}
{{- /* Pre-flight requests need TLS. */ -}}
{{- if (.Values.webhook | default dict).enabled -}}
{{- if eq $mode "secret" -}}
{{- fail "tls.mode: secret cannot be combined with webhook.enabled, because pods do not have the CA of your keys; use controller, or off, which means controller here" -}}
{{- end -}}
{{- $mode = ternary "controller" $mode (eq $mode "off") -}}
{{- end -}}
{{- if ne $mode "off" -}}
{{- if eq (int (required "tls.port: expected a port" .Values.tls.port)) (int .Values.service.port) -}}
{{- fail (printf "tls.port: expected another port than service.port, %d" (int .Values.service.port)) -}}
{{- end -}}
{{ $mode }}
{{- end -}}
{{- end }}

{{- /* Whether the policy and all of its pools are in mode observe. */ -}}
{{- define "autopilot.observes" -}}
{{- $policy := .Values.remediation | default dict -}}
{{- $mode := $policy.mode | default "observe" -}}
{{- $modes := list $mode -}}
{{- range $policy.pools -}}
{{- $modes = append $modes (.mode | default $mode) -}}
{{- end -}}
{{- if not (without $modes "observe") }}yes{{ end -}}
{{- end }}

{{- /* Whether the policy or a pool deletes pods that cannot be evicted. */ -}}
{{- define "autopilot.deletesPods" -}}
{{- $policy := .Values.remediation | default dict -}}
{{- $methods := list ($policy.evictions).method -}}
{{- range $policy.pools -}}
{{- $methods = append $methods (.evictions).method -}}
{{- end -}}
{{- if and (has "delete" $methods) (not (include "autopilot.observes" .)) }}yes{{ end -}}
{{- end }}

{{- /* Settings of the agent: from the values, overridden by `config`. */ -}}
{{- define "autopilot.config" -}}
{{- $own := dict "profile" .Values.profile
  "allowed_hosts" (include "autopilot.hostNames" . | fromYamlArray)
  "kubernetes" (dict "write_node" true "label_prefix" (include "autopilot.prefix" .)) -}}
{{- /* `config.listen` replaces all listen addresses. */ -}}
{{- if not (hasKey (.Values.config | default dict) "listen") -}}
{{- $_ := set $own "listen" (printf ":%d" (int .Values.service.port)) -}}
{{- $_ := set $own "also_listen" (list ":8081" ":8080") -}}
{{- end -}}
{{- $tlsMode := include "autopilot.tlsMode" . -}}
{{- if eq $tlsMode "certManager" -}}
{{- $_ := set $own "tls" (dict "mode" "cert_manager" "listen" (printf ":%d" (int .Values.tls.port)) "issuer" "autopilot") -}}
{{- else if eq $tlsMode "controller" -}}
{{- $_ := set $own "tls" (dict "mode" "controller" "listen" (printf ":%d" (int .Values.tls.port))
  "controller" (printf "https://autopilot-controller.%s.svc:9443" .Release.Namespace)
  "token" "/var/run/secrets/autopilot-controller/token" "authorities" "/etc/autopilot-authority/ca.crt") -}}
{{- else if $tlsMode -}}
{{- $_ := set $own "tls" (dict "mode" "files" "listen" (printf ":%d" (int .Values.tls.port))
  "certificate" "/etc/autopilot-tls/tls.crt" "key" "/etc/autopilot-tls/tls.key" "authorities" "/etc/autopilot-tls/ca.crt") -}}
{{- end -}}
{{- if include "autopilot.isFull" . -}}
{{- $_ := set $own "kernel_log" (dict "helper_socket" "/run/autopilot-kmsg/kmsg.sock") -}}
{{- $_ := set $own "kubelet" (dict "helper_socket" "/run/autopilot-kubelet/kubelet.sock") -}}
{{- end -}}
{{- /* The kubelet removes a pod whose emptyDir exceeds its limit of 256Mi, which the journal shares. */ -}}
{{- if not (include "autopilot.keepsState" .) -}}
{{- $_ := set $own "history" (dict "bytes" "128MiB") -}}
{{- end -}}
{{- if ne (toString (.Values.loglevel | default "")) "" -}}
{{- $_ := set $own "log_level" (ternary "debug" "info" (ge (int .Values.loglevel) 4)) -}}
{{- end -}}
{{- if ne (toString (.Values.PCIeBW | default "")) "" -}}
{{- $_ := set $own "expectation" (dict "thresholds" (dict "gpu.pcie_bandwidth.host_to_device" (int .Values.PCIeBW))) -}}
{{- end -}}
{{- $deepTest := dict -}}
{{- if and (ne (toString .Values.invasive) "") (not (kindIs "invalid" .Values.invasive)) -}}
{{- $_ := set $deepTest "every" (include "autopilot.period" (dict "name" "invasive" "value" .Values.invasive)) -}}
{{- end -}}
{{- with include "autopilot.variable" (dict "Values" .Values "name" "DCGM_FATAL_ERRORS") -}}
{{- $_ := set $deepTest "fatal" (include "autopilot.words" . | fromJsonArray) -}}
{{- end -}}
{{- if (.Values.controller | default dict).enabled -}}
{{- $_ := set $deepTest "ask_controller" true -}}
{{- end -}}
{{- if $deepTest -}}
{{- $_ := set $own "deep_test" $deepTest -}}
{{- end -}}
{{- if and (.Values.webhook | default dict).enabled (include "autopilot.observes" .) -}}
{{- $_ := set $own "preflight" (dict "failed" "start") -}}
{{- end -}}
{{- with include "autopilot.variable" (dict "Values" .Values "name" "PVC_TEST_STORAGE_CLASS") -}}
{{- $_ := set $own "pvc" (dict "storage_classes" (dict . (list "ReadWriteMany"))) -}}
{{- end -}}
{{- with include "autopilot.variable" (dict "Values" .Values "name" "PERIODIC_CHECKS") -}}
{{- $_ := set $own "periodic_checks" (include "autopilot.words" (regexReplaceAll "[ ,]+" . ",") | fromJsonArray) -}}
{{- end -}}
{{- $loads := list -}}
{{- $periodic := include "autopilot.variable" (dict "Values" .Values "name" "PERIODIC_CHECKS") | default "pciebw" -}}
{{- range $name, $check := dict "pciebw" "gpu.pcie_bandwidth" "gpumem" "gpu.compute" -}}
{{- if has $name (include "autopilot.words" (regexReplaceAll "[ ,]+" $periodic ",") | fromJsonArray) -}}
{{- $loads = append $loads $check -}}
{{- end -}}
{{- end -}}
{{- if ne (toString (.Values.repeat | default "")) "" -}}
{{- $every := include "autopilot.duration" (dict "name" "repeat" "value" .Values.repeat) -}}
{{- if regexMatch "^([0-9]m)?([1-5]?[0-9]?[0-9]s)?$" $every -}}
{{- $every = ternary "0s" "10m" (eq $every "0s") -}}
{{- end -}}
{{- $every = include "autopilot.period" (dict "name" "repeat" "value" $every) -}}
{{- if $loads -}}
{{- $_ := set $own "gpu_tests" (dict "every" $every "checks" $loads) -}}
{{- end -}}
{{- end -}}
{{- if (.Values.compat | default dict).openActions -}}
{{- $_ := set $own "compat" (dict "open_actions" true) -}}
{{- end -}}
{{- $jobs := dict -}}
{{- if not (.Values.jobs | default dict).enabled -}}
{{- $_ := set $jobs "enabled" false -}}
{{- else if include "autopilot.sendsJobs" . -}}
{{- $_ := set $jobs "controller" (printf "https://autopilot-controller.%s.svc:%d" .Release.Namespace (int .Values.jobs.port)) -}}
{{- end -}}
{{- if include "autopilot.helpsJobs" . -}}
{{- $_ := set $jobs "helper_socket" "/run/autopilot-ras/ras.sock" -}}
{{- end -}}
{{- if $jobs -}}
{{- $_ := set $own "jobs" $jobs -}}
{{- end -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- with $config.allowed_hosts -}}
{{- $_ := set $config "allowed_hosts" (concat $own.allowed_hosts .) -}}
{{- end -}}
{{ mergeOverwrite $own $config | toYaml }}
{{- end }}

{{- /* GB/s below which the agent reports a GPU as slow: from its settings, else from the catalog. */ -}}
{{- define "autopilot.pcieLimit" -}}
{{- $config := include "autopilot.config" . | fromYaml -}}
{{- $own := ($config.expectation).thresholds | default dict -}}
{{- include "autopilot.text" (hasKey $own "gpu.pcie_bandwidth.host_to_device" | ternary (get $own "gpu.pcie_bandwidth.host_to_device") 4) -}}
{{- end }}

{{- define "autopilot.controllerLabels" -}}
app: autopilot-controller
app.kubernetes.io/name: autopilot
app.kubernetes.io/component: controller
{{- end }}

{{- /* Source of the controller's certificates: own, or a Secret. */ -}}
{{- define "autopilot.controllerKeys" -}}
{{ (.Values.controller.certificates | default dict).mode | default "own" }}
{{- end }}

{{- /* Not empty: agents send what they see of jobs to the controller, which trusts the authority of their certificates. */ -}}
{{- define "autopilot.sendsJobs" -}}
{{- $mode := include "autopilot.tlsMode" . -}}
{{- $trusted := ternary "own" "secret" (eq $mode "controller") -}}
{{- if and (.Values.controller | default dict).enabled (.Values.jobs | default dict).enabled $mode (eq (include "autopilot.controllerKeys" .) $trusted) -}}
true
{{- end -}}
{{- end }}

{{- /* Half of a size of Kubernetes, as a size of the settings: a volume has room for the log of a file, and for a file moved aside. */ -}}
{{- define "autopilot.halfOf" -}}
{{- if not (regexMatch "^([2-9]|[1-9][0-9]{1,5})Mi$|^[1-9][0-9]{0,3}Gi$" .size) -}}
{{- fail (printf "%s: %s; expected a size such as 512Mi or 2Gi" .name .size) -}}
{{- end -}}
{{- $kib := mul 512 (int64 (regexFind "^[0-9]+" .size)) -}}
{{- printf "%dKiB" (ternary (mul 1024 $kib) $kib (hasSuffix "Gi" .size)) -}}
{{- end }}

{{- /* Settings of the controller: from the values, overridden by `controller.config`. */ -}}
{{- define "autopilot.controllerConfig" -}}
{{- $own := dict "kubernetes" (dict "label_prefix" (include "autopilot.prefix" .)) "policy" "/etc/autopilot/policy.yaml" -}}
{{- if ne (toString (.Values.loglevel | default "")) "" -}}
{{- $_ := set $own "log_level" (ternary "debug" "info" (ge (int .Values.loglevel) 4)) -}}
{{- end -}}
{{- if (.Values.webhook | default dict).enabled -}}
{{- $_ := set $own "webhook" (dict "enabled" true "image" (include "autopilot.image" .)
  "agent_url" (printf "https://autopilot-node.%s.svc:%d" .Release.Namespace (int .Values.tls.port))) -}}
{{- end -}}
{{- if (.Values.webhook | default dict).clientAuthority -}}
{{- $webhook := $own.webhook | default dict -}}
{{- $_ := set $webhook "client_authorities" "/etc/autopilot-clients/ca.crt" -}}
{{- $_ := set $own "webhook" $webhook -}}
{{- end -}}
{{- if eq (include "autopilot.controllerKeys" .) "secret" -}}
{{- $_ := set $own "certificates" (dict "mode" "files" "certificate" "/etc/autopilot-tls/tls.crt"
  "key" "/etc/autopilot-tls/tls.key" "authorities" "/etc/autopilot-tls/ca.crt") -}}
{{- end -}}
{{- if (.Values.controller.history | default dict).enabled -}}
{{- $_ := set $own "history" (dict "path" "/var/lib/autopilot/history.db"
  "bytes" (include "autopilot.halfOf" (dict "name" "controller.history.size" "size" (.Values.controller.history.size | default "2Gi")))) -}}
{{- end -}}
{{- $jobs := .Values.jobs | default dict -}}
{{- $_ := set $own "jobs" (dict "enabled" (ternary true false (ne (include "autopilot.sendsJobs" .) "")) "listen" (printf ":%d" (int ($jobs.port | default 9444)))
  "mode" ($jobs.mode | default "observe")) -}}
{{/* The probes of the pod use this socket. */}}
{{- $socket := dict "socket" "/run/autopilot/controller.sock" -}}
{{- mergeOverwrite $own (deepCopy (.Values.controller.config | default dict)) $socket | toYaml }}
{{- end }}
